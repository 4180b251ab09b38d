import type { FastifyRequest } from 'fastify';
import { asVersion4, type Random } from '../std/random.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Links what follows from the request: what the caller gave, or a new one. */
    correlation: string;
  }
}

export const correlationHeader = 'x-correlation-id';

/** What comes from outside ends up in logs, headers and labels (H-t). */
const readable = /^[A-Za-z0-9._:-]{1,128}$/;

/**
 * What the caller gave, where it can be read; else a new one. A bad one is no reason to refuse a
 * request: it would make its own tracing the cause of an outage.
 */
export function correlationOf({ headers }: FastifyRequest, random: Random): string {
  const given = headers[correlationHeader];
  if (typeof given === 'string' && readable.test(given)) return given;
  return asVersion4(random.id());
}
