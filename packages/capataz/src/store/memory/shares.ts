import type { Change, Reservation } from '../../core/change.ts';
import type { ChangeOutcome } from '../contract.ts';
import type { HeldReservation, MemoryData, OpenJob } from './data.ts';

/** Shares of limited things, and who waits for them. */

/** Refused where a key is full, or where another job has waited for it longer. */
export function exceededLimit(
  data: MemoryData,
  change: Change,
  at: number,
): ChangeOutcome | undefined {
  expire(data, at);
  const { job } = change;
  const taken = new Map<string, number>();
  for (const { key, amount, limit } of wantedBy(change)) {
    const shares = data.reservations.filter((share) => share.key === key);
    const sum = shares.reduce((total, share) => total + share.amount, taken.get(key) ?? 0) + amount;
    taken.set(key, (taken.get(key) ?? 0) + amount);
    if (sum > limit || isOvertaking(data, job.id, key))
      return { type: 'limit', key, retryAfterMs: amount > limit ? null : firstExpiry(shares, at) };
  }
  return undefined;
}

/** By the change and by the children that come into being with it, or not at all. */
function wantedBy({ reservations, also }: Change): readonly Reservation[] {
  if (also === null || also.children.length === 0) return reservations;
  return [...reservations, ...also.children.flatMap(wantedBy)];
}

function expire(data: MemoryData, at: number): void {
  data.reservations = data.reservations.filter(
    ({ expiresAt }) => expiresAt === null || expiresAt > at,
  );
}

function firstExpiry(shares: readonly HeldReservation[], at: number): number | null {
  const ends = shares.flatMap(({ expiresAt }) => (expiresAt === null ? [] : [expiresAt]));
  return ends.length === 0 ? null : Math.min(...ends) - at;
}

/** Whether a job that arrived earlier waits for the key. */
function isOvertaking(data: MemoryData, jobId: string, key: string): boolean {
  const first = firstWaiting(data, key);
  if (first === undefined || first.job.id === jobId) return false;
  const ids = [...data.open.keys()];
  const place = ids.indexOf(jobId);
  return place === -1 || ids.indexOf(first.job.id) < place;
}

function firstWaiting(data: MemoryData, key: string): OpenJob | undefined {
  for (const owner of data.open.values()) {
    if (owner.job.wait?.type === 'timer' && owner.job.wait.key === key) return owner;
  }
  return undefined;
}

/** A place may be free: who waits longest looks again now. */
function wake(data: MemoryData, key: string, at: number): void {
  const first = firstWaiting(data, key);
  if (first !== undefined) first.deadlines = { ...first.deadlines, wake: at };
}

/** After the job was stored: what it gives back, takes, and settles of what it holds or took just now. */
export function storeShares(data: MemoryData, change: Change, hasEnded: boolean, at: number): void {
  const { job, timers, also, reservations } = change;
  const released = new Set(also?.releases);
  const freed = new Set<string>();
  data.reservations = data.reservations.filter((share) => {
    const isOver =
      hasEnded || released.has(share.key) || (timers !== 'keep' && share.until === 'wait');
    if (share.jobId !== job.id || !isOver) return true;
    freed.add(share.key);
    return false;
  });
  if (!hasEnded) {
    for (const { key, amount, limit, expiresAfterMs, until } of reservations) {
      const expiresAt = expiresAfterMs === null ? null : at + expiresAfterMs;
      data.reservations.push({ jobId: job.id, key, amount, expiresAt, until });
      const held = data.reservations.filter((share) => share.key === key);
      if (held.reduce((sum, share) => sum + share.amount, 0) < limit) freed.add(key);
    }
  }
  settle(data, change, freed);
  for (const key of freed) wake(data, key, at);
}

/** What was used stays until it expires, whatever becomes of the job. */
function settle(data: MemoryData, { job, also }: Change, freed: Set<string>): void {
  for (const { key, amount } of also?.settles ?? []) {
    freed.add(key);
    data.reservations = data.reservations.flatMap((share) => {
      if (share.jobId !== job.id || share.key !== key) return [share];
      return share.expiresAt === null ? [] : [{ ...share, jobId: null, amount }];
    });
  }
}
