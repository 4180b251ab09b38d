import type { Emitted } from '../../core/change.ts';
import type { Job } from '../../core/job.ts';
import type {
  DeadLetter,
  DeadLetterQuery,
  LetterPlace,
  OutboxEvent,
  OutboxPage,
  OutboxVerdict,
} from '../contract.ts';
import { copyOf, type MemoryData, type OutboxRow } from './data.ts';

/** Events on their way to the bus, and those that nobody would take. */

export function addEmits(data: MemoryData, job: Job, emits: readonly Emitted[], at: number): void {
  for (const { id, number, exchange, name, payload } of emits) {
    const event: OutboxEvent = copyOf({
      id,
      jobId: job.id,
      client: job.client,
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

/** `hold`: for whom and until when the others are to leave them alone; null: there are no others. */
export function outboxPage(
  data: MemoryData,
  limit: number,
  at: number,
  hold: { readonly by: object; readonly until: number } | null,
): OutboxPage {
  const seen = new Set<string>();
  const heads = data.outbox.filter(({ event: { jobId } }) => !seen.has(jobId) && seen.add(jobId));
  const isFree = ({ held }: OutboxRow): boolean =>
    held === undefined || held.by === hold?.by || held.until <= at;
  const due = heads.filter((row) => row.notBefore <= at && isFree(row)).slice(0, limit);
  const later = heads.filter(({ notBefore }) => notBefore > at);
  const next = Math.min(...later.map(({ notBefore }) => notBefore));
  if (hold !== null)
    for (const row of due) data.outbox[data.outbox.indexOf(row)] = { ...row, held: hold };
  return {
    events: due.map(({ event }) => copyOf(event)),
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
  { limit, after, resolvedToo = false, ...wanted }: DeadLetterQuery,
): DeadLetter[] {
  const found = data.dead
    .filter((letter) => after === undefined || byPlace(letter, after) > 0)
    .filter((letter) => (resolvedToo || letter.resolvedAt === null) && isWanted(letter, wanted))
    .sort(byPlace);
  return found.slice(0, limit).map(copyOf);
}

function byPlace(one: LetterPlace, other: LetterPlace): number {
  if (one.movedAt !== other.movedAt) return one.movedAt - other.movedAt;
  return one.id < other.id ? -1 : Number(one.id > other.id);
}

function isWanted(
  letter: DeadLetter,
  { client, name, jobId, ids }: Omit<DeadLetterQuery, 'limit'>,
): boolean {
  return (
    (client === undefined || letter.client === client) &&
    (name === undefined || letter.name === name) &&
    (jobId === undefined || letter.jobId === jobId) &&
    (ids === undefined || ids.includes(letter.id))
  );
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

/** @returns how many. */
export function forgetResolved(data: MemoryData, before: number, limit: number): number {
  const gone = data.dead
    .filter(({ resolvedAt }) => resolvedAt !== null && resolvedAt < before)
    .slice(0, limit);
  data.dead = data.dead.filter((letter) => !gone.includes(letter));
  return gone.length;
}

function unresolved(data: MemoryData, ids: readonly string[]): DeadLetter[] {
  return data.dead.filter(({ id, resolvedAt }) => ids.includes(id) && resolvedAt === null);
}
