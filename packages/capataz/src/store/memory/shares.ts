import type { Change, Reservation, ShareWish } from '../../core/change.ts';
import type { Job } from '../../core/job.ts';
import { isFinal } from '../../core/status.ts';
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
  if (change.reservations.length === 0 && change.also === null) return undefined;
  const taken = new Map<string, number>();
  for (const { wanted, job, place } of wantedBy(data, change)) {
    const { key, amount, limit } = wanted;
    const others = heldByOthers(data, key, job);
    const sum = sumOf(others) + (taken.get(key) ?? 0) + amount;
    taken.set(key, (taken.get(key) ?? 0) + amount);
    if (sum > limit || isOvertaking(data, key, place))
      return { type: 'limit', key, retryAfterMs: amount > limit ? null : firstExpiry(others, at) };
  }
  return undefined;
}

interface Wanted {
  readonly wanted: Reservation;
  readonly job: string;
  /** Among all who wait; null: behind everybody. */
  readonly place: number | null;
}

/** By the change and by the children that come into being with it, or not at all. */
function wantedBy(data: MemoryData, { job, reservations, also }: Change): Wanted[] {
  const waiting = data.open.get(job.id);
  // One place in all lines: two that want the same keys, and each first in the line for another, would
  // refuse each other for ever.
  const isWaiting = waiting !== undefined && waitKeyOf(waiting.job) !== null;
  const place = isWaiting ? waiting.place : null;
  const own = reservations.map((wanted) => ({ wanted, job: job.id, place }));
  return [...own, ...(also?.children ?? []).flatMap((child) => wantedBy(data, child))];
}

function expire(data: MemoryData, at: number): void {
  if (data.reservations.length === 0) return;
  data.reservations = data.reservations.filter(
    ({ expiresAt }) => expiresAt === null || expiresAt > at,
  );
}

function firstExpiry(shares: readonly HeldReservation[], at: number): number | null {
  const ends = shares.flatMap(({ expiresAt }) => (expiresAt === null ? [] : [expiresAt]));
  return ends.length === 0 ? null : Math.min(...ends) - at;
}

function isOvertaking(data: MemoryData, key: string, place: number | null): boolean {
  const first = firstWaiting(data, key)?.place ?? null;
  return first !== null && (place === null || first < place);
}

export function waitKeyOf({ wait }: Job): string | null {
  return wait?.type === 'timer' ? (wait.key ?? null) : null;
}

function firstWaiting(data: MemoryData, key: string): OpenJob | undefined {
  const waiting = [...data.open.values()].filter(({ job }) => waitKeyOf(job) === key);
  return waiting.sort((a, b) => (a.place ?? 0) - (b.place ?? 0))[0];
}

/** A place may be free: who waits longest looks again now. */
function wake(data: MemoryData, key: string, at: number): void {
  const first = firstWaiting(data, key);
  if (first !== undefined) first.deadlines = { ...first.deadlines, wake: at };
}

/** After the job was stored: what it settles, gives back and takes. */
export function storeShares(
  data: MemoryData,
  change: Change,
  { before, after }: { readonly before: OpenJob | undefined; readonly after: OpenJob },
  at: number,
): void {
  const { job, reservations } = change;
  const hasEnded = isFinal(after.job.status);
  const fresh = reservations.map((wanted) => shareOf(job.id, wanted, at));
  const taken = new Set(reservations.map(({ key }) => key));
  const freed = new Set<string>();
  const settled = settle(data, change, fresh, freed);
  data.reservations = data.reservations.filter((share) => {
    if (share.jobId !== job.id) return true;
    const isOver = hasEnded || taken.has(share.key) || isGivenBack(change, share);
    if (isOver) freed.add(share.key);
    return !isOver;
  });
  const kept = hasEnded ? [] : fresh.filter(({ key }) => !settled.has(key));
  data.reservations.push(...kept);
  for (const { key, limit } of reservations) if (heldOf(data, key) < limit) freed.add(key);
  const leftKey = before === undefined ? null : waitKeyOf(before.job);
  // Who leaves without a share may have been in the way of others.
  if (leftKey !== null && leftKey !== waitKeyOf(after.job) && !taken.has(leftKey))
    freed.add(leftKey);
  for (const key of freed) wake(data, key, at);
  const awaits = change.also?.awaits ?? null;
  if (awaits !== null && isToBeHad(data, awaits, after)) wake(data, awaits.key, at);
}

function isToBeHad(data: MemoryData, { key, amount, limit }: ShareWish, by: OpenJob): boolean {
  const held = sumOf(heldByOthers(data, key, by.job.id));
  return held + amount <= limit && !isOvertaking(data, key, by.place);
}

/** What the job holds of the key itself is replaced. */
function heldByOthers(data: MemoryData, key: string, job: string): HeldReservation[] {
  return data.reservations.filter((share) => share.key === key && share.jobId !== job);
}

function sumOf(shares: readonly HeldReservation[]): number {
  return shares.reduce((sum, { amount }) => sum + amount, 0);
}

function shareOf(jobId: string, wanted: Reservation, at: number): HeldReservation {
  const { key, amount, expiresAfterMs, until } = wanted;
  return {
    jobId,
    key,
    amount,
    until,
    expiresAt: expiresAfterMs === null ? null : at + expiresAfterMs,
  };
}

function isGivenBack({ timers, also }: Change, { key, until }: HeldReservation): boolean {
  return (also?.releases.includes(key) ?? false) || (timers !== 'keep' && until === 'wait');
}

function heldOf(data: MemoryData, key: string): number {
  return sumOf(data.reservations.filter((share) => share.key === key));
}

/**
 * What was used stays until it expires, whatever becomes of the job; what never expires is forgotten.
 * @returns the settled keys.
 */
function settle(
  data: MemoryData,
  { job, also }: Change,
  fresh: readonly HeldReservation[],
  freed: Set<string>,
): ReadonlySet<string> {
  const settled = new Set<string>();
  for (const { key, amount } of also?.settles ?? []) {
    const isOwn = (share: HeldReservation): boolean => share.jobId === job.id && share.key === key;
    const own = [...fresh.filter(isOwn), ...data.reservations.filter(isOwn)];
    const lasting = own.find(({ expiresAt }) => expiresAt !== null);
    data.reservations = data.reservations.filter((share) => !isOwn(share));
    if (lasting !== undefined) data.reservations.push({ ...lasting, jobId: null, amount });
    settled.add(key);
    freed.add(key);
  }
  return settled;
}
