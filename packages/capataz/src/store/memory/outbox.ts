import type { Emitted } from '../../core/change.ts';
import type { Job } from '../../core/job.ts';
import type {
  DeadLetter,
  DeadLetterQuery,
  OutboxEvent,
  OutboxPage,
  OutboxVerdict,
} from '../contract.ts';
import { copyOf, type MemoryData } from './data.ts';

/** Events on their way to the bus, and those that nobody would take. */

export function addEmits(data: MemoryData, job: Job, emits: readonly Emitted[], at: number): void {
  for (const { id, number, exchange, name, payload } of emits) {
    const event: OutboxEvent = copyOf({
      id,
      jobId: job.id,
      sequence: number,
      exchange,
      name,
      payload,
      correlationId: job.correlationId,
      trace: job.trace,
      createdAt: at,
      retryCount: 0,
      lastError: null,
    });
    data.outbox.push({ event, notBefore: at });
  }
}

export function outboxPage(data: MemoryData, limit: number, at: number): OutboxPage {
  const seen = new Set<string>();
  const heads = data.outbox.filter(({ event: { jobId } }) => !seen.has(jobId) && seen.add(jobId));
  const due = heads.filter(({ notBefore }) => notBefore <= at);
  const later = heads.filter(({ notBefore }) => notBefore > at);
  const next = Math.min(...later.map(({ notBefore }) => notBefore));
  return {
    events: due.slice(0, limit).map(({ event }) => copyOf(event)),
    nextInMs: later.length === 0 ? null : next - at,
  };
}

export function settle(data: MemoryData, verdicts: readonly OutboxVerdict[], at: number): void {
  for (const verdict of verdicts) {
    const index = data.outbox.findIndex(({ event }) => event.id === verdict.id);
    const row = data.outbox[index];
    if (row === undefined) continue;
    if (verdict.type === 'failed') {
      data.outbox[index] = {
        event: tried(row.event, verdict.error),
        notBefore: at + verdict.retryAfterMs,
      };
      continue;
    }
    data.outbox.splice(index, 1);
    if (verdict.type === 'dead') data.dead.push(deadLetter(tried(row.event, verdict.error), at));
  }
}

function tried(event: OutboxEvent, error: string): OutboxEvent {
  return { ...event, retryCount: event.retryCount + 1, lastError: error };
}

function deadLetter(event: OutboxEvent, at: number): DeadLetter {
  return { ...event, movedAt: at, resolvedAt: null, resolvedBy: null, notes: null };
}

export function deadLettersOf(
  data: MemoryData,
  { limit, after, resolvedToo = false }: DeadLetterQuery,
): DeadLetter[] {
  const from = after === undefined ? 0 : data.dead.findIndex(({ id }) => id === after) + 1;
  const wanted = data.dead
    .slice(from)
    .filter(({ resolvedAt }) => resolvedToo || resolvedAt === null);
  return wanted.slice(0, limit).map(copyOf);
}

/** @returns those that were there and unresolved. */
export function redrive(data: MemoryData, ids: readonly string[], at: number): string[] {
  const found = unresolved(data, ids);
  for (const { movedAt: _, resolvedAt, resolvedBy, notes, ...event } of found) {
    data.outbox.push({ event: { ...event, retryCount: 0 }, notBefore: at });
  }
  data.dead = data.dead.filter((letter) => !found.includes(letter));
  return found.map(({ id }) => id);
}

export function resolve(
  data: MemoryData,
  ids: readonly string[],
  { by, notes }: { readonly by: string; readonly notes: string },
  at: number,
): string[] {
  const found = unresolved(data, ids);
  data.dead = data.dead.map((letter) =>
    found.includes(letter) ? { ...letter, resolvedAt: at, resolvedBy: by, notes } : letter,
  );
  return found.map(({ id }) => id);
}

function unresolved(data: MemoryData, ids: readonly string[]): DeadLetter[] {
  return data.dead.filter(({ id, resolvedAt }) => ids.includes(id) && resolvedAt === null);
}
