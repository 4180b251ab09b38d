import type { FastifyRequest } from 'fastify';
import { validationFailed } from './fields.ts';

const keyPattern = /^[\x20-\x7e]{1,200}$/;

/** @throws VALIDATION_FAILED */
export function idempotencyKey({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && keyPattern.test(key)) return key;
  const message = 'must be 1 to 200 printable characters';
  throw validationFailed([{ path: 'header idempotency-key', message }]);
}
