import type { FastifyRequest } from 'fastify';
import { type Problem, validationFailed } from './fields.ts';

const keyPattern = /^[\x20-\x7e]{1,200}$/;

export interface HeaderRule {
  readonly pattern: RegExp;
  /** What the pattern asks for, in words. */
  readonly what: string;
  readonly problems: Problem[];
}

/** The text of a header, if it is there; what is wrong with it goes to the problems. */
export function headerText(
  { headers }: FastifyRequest,
  name: string,
  { pattern, what, problems }: HeaderRule,
): string | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && pattern.test(value)) return value;
  problems.push({ path: `header ${name}`, message: `must be ${what}` });
  return undefined;
}

export function idempotencyKey(request: FastifyRequest, problems: Problem[]): string | undefined {
  const what = '1 to 200 printable characters';
  return headerText(request, 'idempotency-key', { pattern: keyPattern, what, problems });
}

/** The only header of its own that a route has. @throws VALIDATION_FAILED */
export function checkedIdempotencyKey(request: FastifyRequest): string | undefined {
  const problems: Problem[] = [];
  const key = idempotencyKey(request, problems);
  if (problems.length > 0) throw validationFailed(problems);
  return key;
}
