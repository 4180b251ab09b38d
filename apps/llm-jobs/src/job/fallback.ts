import { type Failure, failureOf } from '../domain/failure.ts';
import { nextStep } from '../models/catalog.ts';
import type { FailureClass, Tier } from '../models/contract.ts';
import type { JobRecord } from './record.ts';
import type { JobRules } from './rules.ts';

export interface FailedCall {
  readonly failureClass: FailureClass;
  readonly message: string;
  /** What the provider asks to wait. */
  readonly retryAfterMs: number | null;
}

interface Decided {
  /** As it goes on, if it does: to the same model again, or to the next of its chain. */
  readonly record: JobRecord;
  readonly failure: Failure;
  /** Shortest wait before the next call. */
  readonly leastMs: number;
}

/** What a failed call means for the next one. Whether retries are left is the state machine's matter. */
export function decided(
  before: JobRecord,
  { failureClass, message, retryAfterMs }: FailedCall,
  { catalog, maxRetryAfterMs }: JobRules,
): Decided {
  const { chain } = before;
  if (chain === null) throw new Error('a call was made without an agent');
  const record = failureClass === 'business' ? { ...before, refusal: message } : before;
  const failure = failureOf(failureClass, message);
  const at = { step: chain.step, failureClass };
  const step = nextStep(catalog.tiers[chain.tier], at, catalog.fallbackOn);
  if (step === null) return { record, failure, leastMs: 0 };
  if (step === chain.step) {
    const leastMs = retryAfterMs ?? 0;
    if (leastMs <= maxRetryAfterMs) return { record, failure, leastMs };
    return {
      record,
      failure: failureOf('permanent', tooLong(message, leastMs, maxRetryAfterMs)),
      leastMs,
    };
  }
  if (record.retry_count >= record.retry_config.max_retries) return { record, failure, leastMs: 0 };
  // Another model may do what this one never could, and its provider has asked for no wait.
  const moved = withTier(record, { tier: chain.tier, step }, catalog);
  return { record: moved, failure: { ...failure, permanent: false }, leastMs: 0 };
}

/** The job with a place in a tier's chain. Its flat price is that of the tier that is asked there (S-81). */
export function withTier(
  record: JobRecord,
  place: { readonly tier: Tier; readonly step: number },
  { tiers }: JobRules['catalog'],
): JobRecord {
  const { chain } = tiers[place.tier];
  const { tier: model } = chain[place.step] ?? chain[0];
  return {
    ...record,
    agent: { skill: record.agent?.skill ?? '', model },
    chain: place,
    cost_nano_usd: tiers[model].cost,
  };
}

function tooLong(message: string, askedMs: number, mostMs: number): string {
  const seconds = Math.ceil(askedMs / 1_000);
  return `${message}; the provider asks for a wait of ${seconds} s, which is more than ${mostMs / 1_000} s`;
}
