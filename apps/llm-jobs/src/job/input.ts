import { z } from 'zod';
import { mostBaseDelayMs, mostRetries } from '../domain/retry.ts';
import { type Tier, tiers } from '../models/contract.ts';
import { checkProblems, outputCheck } from '../output/check.ts';

/** In characters, not bytes (W-v). */
export const mostCharacters = 10_000;

/**
 * What a job is started with. The types are checked when it is accepted, the content in Init, so
 * that a blank job exists, fails and has its record (S-80).
 */
export const jobInput = z.strictObject({
  /** What the model shall do. */
  description: z.string(),
  /** A tier that overrides the router's; the skill stays its choice. */
  model: z.string().exactOptional(),
  max_retries: z.number().exactOptional(),
  base_delay_ms: z.number().exactOptional(),
  /** What the answer must be, beside what its skill asks for. */
  check: outputCheck.exactOptional(),
});
export type JobInput = z.infer<typeof jobInput>;

/** Everything that is wrong with the content. */
export function problemsOf({ description, model, check, ...rest }: JobInput): string[] {
  const characters = [...description].length;
  return [
    ...(description.trim() === '' ? ['the description is blank'] : []),
    ...(characters > mostCharacters
      ? [`the description has ${characters} characters, more than ${mostCharacters}`]
      : []),
    ...(model === undefined || tierNamed(model) !== null
      ? []
      : [`model: "${model}" is none of ${tiers.join(', ')}`]),
    ...retryProblems(rest),
    ...(check === undefined ? [] : checkProblems(check)),
  ];
}

function retryProblems({ max_retries, base_delay_ms }: Partial<JobInput>): string[] {
  return [
    ...(max_retries === undefined || isWhole(max_retries, mostRetries)
      ? []
      : [`max_retries: ${max_retries} is no whole number from 0 to ${mostRetries}`]),
    ...(base_delay_ms === undefined || isWhole(base_delay_ms, mostBaseDelayMs)
      ? []
      : [`base_delay_ms: ${base_delay_ms} is no whole number from 0 to ${mostBaseDelayMs}`]),
  ];
}

function isWhole(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}

/** `haiku`, `Haiku`, `HAIKU`; null for what is none. */
export function tierNamed(word: string): Tier | null {
  return tiers.find((tier) => tier.toLowerCase() === word.toLowerCase()) ?? null;
}
