import { durationMs } from '../std/duration.ts';
import { cleanText } from '../std/json.ts';
import type { Action } from './any-action.ts';
import type { ShareWish } from './change.ts';
import type { Shares } from './share-actions.ts';
import type { Step } from './step.ts';

/** What actions take, settle and give back, as part of a step. */

/** The longest wait for a share before the job looks again, if nobody told it. */
const lookAgainMs = 60_000;

/** Of an action; a dispatch may name its place in short. */
export function sharesOf(action: Action): Shares {
  const { shares = {} } = action;
  if (action.type !== 'dispatch' || action.options?.concurrencyKey === undefined) return shares;
  const { key, limit } = action.options.concurrencyKey;
  return { ...shares, reserve: [...(shares.reserve ?? []), { key, limit, until: 'wait' }] };
}

/** @throws Error where a share is none, or could never be had. */
export function checkShares({ reserve = [], settle = [], release = [], keys = [] }: Shares): void {
  const reserved = new Set<string>();
  for (const { key, amount = 1, limit, expiresAfter, until = 'job' } of reserve) {
    if (expiresAfter !== undefined) durationMs(expiresAfter);
    const isFine = isAmount(amount) && isAmount(limit) && amount <= limit;
    if (!isName(key) || !isFine || (until !== 'job' && until !== 'wait'))
      throw new Error(`reserves key ${JSON.stringify(key)}, amount ${amount}, limit ${limit}`);
    if (reserved.has(key)) throw new Error(`reserves key ${JSON.stringify(key)} twice`);
    reserved.add(key);
  }
  for (const { key, amount } of settle) {
    if (!isName(key) || !isAmount(amount))
      throw new Error(`settles key ${JSON.stringify(key)}, amount ${amount}`);
  }
  for (const key of [...release, ...keys]) {
    if (!isName(key)) throw new Error(`names a key that is none: ${JSON.stringify(key)}`);
  }
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** As every store keeps it. */
function isName(key: unknown): boolean {
  return typeof key === 'string' && key !== '' && key.length <= 500 && cleanText(key) === key;
}

/** @returns the share whose key was found full when this decision was tried before, or null. */
export function fullShare(step: Step, { reserve = [] }: Shares): ShareWish | null {
  const full = reserve.find(({ key }) => step.context.full.has(key));
  return full === undefined ? null : { key: full.key, amount: full.amount ?? 1, limit: full.limit };
}

export function takeShares(step: Step, shares: Shares): void {
  for (const { key, amount = 1, limit, expiresAfter, until = 'job' } of shares.reserve ?? []) {
    const expiresAfterMs = expiresAfter === undefined ? null : durationMs(expiresAfter);
    step.reserve({ key, amount, limit, expiresAfterMs, until });
  }
  for (const { key, amount } of shares.settle ?? []) step.settle(key, amount);
  for (const key of shares.release ?? []) step.release(key);
  for (const key of shares.keys ?? []) step.register(key);
}

/** The job waits for a place under the key; its present handler then runs again. */
export function queueForShare(step: Step, wish: ShareWish): void {
  const { key } = wish;
  step.note({ type: 'share_awaited', state: step.job.state, reason: key });
  const status = step.job.entry === 0 ? 'pending' : 'waiting_for_timer';
  step.await({ status, wait: { type: 'timer', to: null, key } }, [
    { name: 'wake', afterMs: Math.min(lookAgainMs, step.context.full.get(key) ?? lookAgainMs) },
  ]);
  step.awaitShare(wish);
}
