import type { ShareWish } from '../../core/change.ts';
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
  const { reservations, also } = change;
  const taken = new Map<string, number>();
  for (const wanted of reservations) {
    const refusal = refusalOf(state, wanted, found?.n ?? null, taken, at);
    if (refusal !== null) return refusal;
  }
  for (const wanted of (also?.children ?? []).flatMap(wantedBy)) {
    const refusal = refusalOf(state, wanted, null, taken, at);
    if (refusal !== null) return refusal;
  }
  return null;
}

/** By children that come into being with a change, or not at all. */
function wantedBy({ reservations, also }: ChangeMessage): ChangeMessage['reservations'] {
  return [...reservations, ...(also?.children ?? []).flatMap(wantedBy)];
}

/** @param job its number, null for a new one. What it holds of the key is replaced. */
function refusalOf(
  state: WriterState,
  { key, amount, limit }: ShareWish,
  job: number | null,
  taken: Map<string, number>,
  at: number,
): ChangeAnswer | null {
  state.statements.run('shares-expire', key, at);
  const { held, next } = heldOf(state, key, job);
  const sum = held + (taken.get(key) ?? 0) + amount;
  taken.set(key, (taken.get(key) ?? 0) + amount);
  if (sum <= limit && !isOvertaking(state, key, job)) return null;
  const retryAfterMs = amount > limit || next === null ? null : next - at;
  return { type: 'limit', key, retryAfterMs };
}

/** Expired shares of a key are gone once it was asked for in the same commit. */
function heldOf(
  { statements }: WriterState,
  key: string,
  without: number | null,
): { held: number; next: number | null } {
  return statements.one('shares-sum', key, without);
}

/** Whether another job has waited for the key longer. */
function isOvertaking(state: WriterState, key: string, job: number | null): boolean {
  const first = firstWaiting(state, key);
  if (first === null || first.job === job) return false;
  if (job === null) return true;
  const own = state.statements.get<{ place: number }>('waiter-place', job);
  return own === undefined || first.place < own.place;
}

interface Waiter {
  readonly place: number;
  readonly job: number;
}

function firstWaiting({ statements, hasWaiters }: WriterState, key: string): Waiter | null {
  return hasWaiters ? (statements.get<Waiter>('waiter-first', key) ?? null) : null;
}

/** After the job was stored: what it settles, gives back and takes. */
export function storeShares(
  state: WriterState,
  job: number,
  change: ChangeMessage,
  had: number,
  at: number,
): void {
  const { also, reservations, ends } = change;
  const isPlain =
    (had & (beside.shares | beside.waiters)) === 0 && also === null && reservations.length === 0;
  if (isPlain) return;
  const freed = new Set<string>();
  const free = ({ key, expires_at: expiresAt }: ReleasedShare): void => {
    if (expiresAt === null || expiresAt > at) freed.add(key);
  };
  const settles = also?.settles ?? [];
  const fresh = new Set(reservations.map(({ key }) => key));
  for (const { key, amount } of settles) if (!fresh.has(key)) settle(state, job, key, amount);
  if ((had & beside.shares) !== 0) {
    for (const share of released(state, job, change, had)) free(share);
    for (const key of fresh)
      state.statements.all<ReleasedShare>('share-release', job, key).map(free);
  }
  const isSettled = new Set(settles.map(({ key }) => key));
  for (const { key, amount, limit, expiresAt, untilWait } of reservations) {
    if (ends !== null && !isSettled.has(key)) continue;
    state.statements.run('share-insert', key, job, amount, expiresAt, untilWait);
    if (state.hasWaiters && heldOf(state, key, null).held < limit) freed.add(key);
  }
  for (const { key, amount } of settles) {
    freed.add(key);
    if (fresh.has(key)) settle(state, job, key, amount);
  }
  // Who leaves without a share may have been in the way of others.
  for (const key of leftKeys(state, job, change, had)) if (!fresh.has(key)) freed.add(key);
  for (const key of freed) wake(state, key, at);
  const awaits = also?.awaits ?? null;
  if (awaits !== null && refusalOf(state, awaits, job, new Map(), at) === null)
    wake(state, awaits.key, at);
}

/** One share stays booked; the job gives back the others of the key. */
function settle({ statements }: WriterState, job: number, key: string, amount: number): void {
  statements.run('share-settle', job, key, amount);
  statements.all('share-release', job, key);
}

/** Keys that the job waited for and waits for no more. */
function leftKeys(
  { statements }: WriterState,
  job: number,
  { job: stands, ends, waitKey }: ChangeMessage,
  had: number,
): string[] {
  if ((had & beside.waiters) === 0 || (stands === null && ends === null)) return [];
  const left = statements.all<{ key: string }>('waiter-other-key', job, waitKey);
  if (left.length > 0 && waitKey === null) statements.run('waiter-delete', job);
  else if (left.length > 0) statements.run('waiter-move', job, waitKey);
  return left.map(({ key }) => key);
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
  if (first !== null) wakeUp(state, first.job, at);
}
