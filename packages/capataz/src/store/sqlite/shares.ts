import { beside } from './beside.ts';
import type { FoundJob } from './change-plan.ts';
import type { ChangeAnswer, ChangeMessage } from './messages.ts';
import { wakeUp } from './times.ts';
import type { WriterState } from './writer-state.ts';

/** Shares of limited things, and who waits for them. */

/** Refused where a key is full, or where another job has waited for it longer. */
export function limitRefusal(
  state: WriterState,
  change: ChangeMessage,
  found: FoundJob | undefined,
  at: number,
): ChangeAnswer | null {
  const taken = new Map<string, number>();
  for (const { key, amount, limit } of wantedBy(change)) {
    state.statements.run('shares-expire', key, at);
    const { held, next } = heldOf(state, key);
    const sum = held + (taken.get(key) ?? 0) + amount;
    taken.set(key, (taken.get(key) ?? 0) + amount);
    if (sum > limit || isOvertaking(state, key, found))
      return {
        type: 'limit',
        key,
        retryAfterMs: amount > limit || next === null ? null : next - at,
      };
  }
  return null;
}

/** By the change and by the children that come into being with it, or not at all. */
function wantedBy({ reservations, also }: ChangeMessage): ChangeMessage['reservations'] {
  if (also === null || also.children.length === 0) return reservations;
  return [...reservations, ...also.children.flatMap(wantedBy)];
}

/** Expired shares of a key are gone once it was asked for in the same commit. */
function heldOf({ statements }: WriterState, key: string): { held: number; next: number | null } {
  return statements.one('shares-sum', key);
}

/** Whether a job that arrived earlier waits for the key. */
function isOvertaking(state: WriterState, key: string, found: FoundJob | undefined): boolean {
  const first = firstWaiting(state, key);
  return first !== null && (found === undefined || first < found.n);
}

function firstWaiting({ statements, hasWaiters }: WriterState, key: string): number | null {
  return hasWaiters ? statements.one<{ job: number | null }>('waiter-first', key).job : null;
}

/** After the job was stored: what it gives back, takes, and settles of what it holds or took just now. */
export function storeShares(
  state: WriterState,
  job: number,
  change: ChangeMessage,
  had: number,
  at: number,
): void {
  const { also, reservations, ends } = change;
  const isPlain = (had & beside.shares) === 0 && also === null && reservations.length === 0;
  if (isPlain) return;
  const freed = new Set<string>();
  if ((had & beside.shares) !== 0) {
    for (const { key, expires_at: expiresAt } of released(state, job, change, had)) {
      if (expiresAt === null || expiresAt > at) freed.add(key);
    }
  }
  for (const { key, amount, limit, expiresAt, untilWait } of ends === null ? reservations : []) {
    state.statements.run('share-insert', key, job, amount, expiresAt, untilWait);
    if (state.hasWaiters && heldOf(state, key).held < limit) freed.add(key);
  }
  for (const { key, amount } of also?.settles ?? []) {
    freed.add(key);
    state.statements.run('share-settle', job, key, amount);
    state.statements.run('share-release', job, key);
  }
  for (const key of freed) wake(state, key, at);
}

interface ReleasedShare {
  readonly key: string;
  readonly expires_at: number | null;
}

function released(
  { statements }: WriterState,
  job: number,
  { ends, timers, also }: ChangeMessage,
  had: number,
): ReleasedShare[] {
  if (ends !== null) return statements.all<ReleasedShare>('shares-release', job);
  const rows = (also?.releases ?? []).flatMap((key) =>
    statements.all<ReleasedShare>('share-release', job, key),
  );
  if (timers === 'keep' || (had & beside.waitShares) === 0) return rows;
  return [...rows, ...statements.all<ReleasedShare>('shares-release-wait', job)];
}

/** A place may be free: who waits longest looks again now. */
function wake(state: WriterState, key: string, at: number): void {
  const first = firstWaiting(state, key);
  if (first !== null) wakeUp(state, first, at);
}
