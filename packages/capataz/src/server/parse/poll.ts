import type { Limits } from '../limits.ts';
import { type Problem, validationFailed } from './fields.ts';

export interface ParsedPoll {
  /** Undefined: the worker did not use the batched form. */
  readonly max: number | undefined;
  readonly timeoutMs: number;
}

const defaultTimeoutMs = 30_000;

/**
 * The query of a poll. Other members (`available_skills`, `hot_skills`) are what RXON's SDK sends
 * along; heartbeats say the same.
 * @throws VALIDATION_FAILED
 */
export function parsePoll(query: Readonly<Record<string, unknown>>, limits: Limits): ParsedPoll {
  const problems: Problem[] = [];
  const max = query.max === undefined ? undefined : Number(query.max);
  if (max !== undefined && !(Number.isInteger(max) && max >= 1 && max <= limits.batch)) {
    problems.push({ path: 'max', message: `must be a whole number from 1 to ${limits.batch}` });
  }
  const timeoutMs = query.timeout === undefined ? defaultTimeoutMs : Number(query.timeout) * 1_000;
  if (!(timeoutMs >= 0) || query.timeout === '') {
    problems.push({ path: 'timeout', message: 'must be a number of seconds' });
  }
  if (problems.length > 0) throw validationFailed(problems);
  return { max, timeoutMs: Math.min(timeoutMs, limits.pollMs) };
}
