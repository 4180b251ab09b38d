import type { Alert, AlertMark, AlertPolicy } from './contract.ts';

/** The mark after one more raise at `now`. */
export function raised(
  mark: AlertMark | null,
  alert: Alert,
  policy: AlertPolicy,
  now: number,
): AlertMark {
  const facts = alert.facts ?? {};
  const first = { count: 0, firstRaisedAt: now, mailedAt: null, isUnsent: false };
  const before = mark ?? first;
  const next = { ...before, ...alert, facts, count: before.count + 1, lastRaisedAt: now };
  return { ...next, isUnsent: before.isUnsent || isDue(next, policy) };
}

/** The mark after its mail went out. */
export function mailed(mark: AlertMark, now: number): AlertMark {
  return { ...mark, mailedAt: now, isUnsent: false };
}

function isDue(
  { count, firstRaisedAt, lastRaisedAt, mailedAt }: Omit<AlertMark, 'isUnsent'>,
  { threshold = 1, lastingMs = 0, repeatMs }: AlertPolicy,
): boolean {
  if (count < threshold || lastRaisedAt - firstRaisedAt < lastingMs) return false;
  return mailedAt === null || (repeatMs !== null && lastRaisedAt - mailedAt >= repeatMs);
}

const leastKeptMs = 7 * 24 * 3_600_000;

/** Nobody will raise it again, and nobody cleared it: jobs that ended, devices that are gone. */
export function isForgotten(mark: AlertMark, { repeatMs }: AlertPolicy, now: number): boolean {
  const keptMs = Math.max(leastKeptMs, 2 * (repeatMs ?? 0));
  return !mark.isUnsent && now - mark.lastRaisedAt > keptMs;
}
