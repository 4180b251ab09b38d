import { z } from 'zod';

/** Of one job. Retries are counted over its whole life. */
export const retryConfig = z.strictObject({ max_retries: z.number(), base_delay_ms: z.number() });
export type RetryConfig = z.infer<typeof retryConfig>;

export const mostRetries = 100;
/** A day. */
export const mostBaseDelayMs = 86_400_000;
export const defaultRetryConfig: RetryConfig = { max_retries: 3, base_delay_ms: 1_000 };

export interface BackoffRules {
  /** No backoff is longer, in ms; 0 switches the cap off, as in the seed. */
  readonly capMs: number;
  /** Each backoff is moved by at most ± this share, 0 to 0.5. */
  readonly jitter: number;
}

/** 100 years. */
const longestMs = 100 * 365 * 86_400_000;

/**
 * The wait before retry `number` (the first is 1): base × 2^(number−1), at most the cap, moved by the
 * jitter. It saturates at the largest exact integer. `chance` is uniform in [0, 1).
 */
export function backoffMs(
  { base_delay_ms }: Pick<RetryConfig, 'base_delay_ms'>,
  number: number,
  { capMs, jitter }: BackoffRules,
  chance = 0.5,
): number {
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`retry ${number} is none`);
  const most = capMs === 0 ? longestMs : capMs;
  const nominal = Math.min(base_delay_ms * 2 ** (number - 1), most);
  return Math.min(Math.round(nominal * (1 + jitter * (2 * chance - 1))), longestMs);
}
