import type { StoredEntry } from '../../core/history.ts';
import type { Job, Task } from '../../core/job.ts';
import { type TaskClass, taskClassOf } from '../../core/requirements.ts';
import type { InboxItem } from '../../core/signal.ts';
import { isFinal, type JobStatus, jobStatuses } from '../../core/status.ts';
import type { WorkerRecord } from '../../core/worker.ts';
import { canonicalJson, type JsonValue } from '../../std/json.ts';
import type {
  BlueprintId,
  DeadLetter,
  DeadLetterQuery,
  EventPage,
  HistoryRow,
  JobQuery,
  OutboxEvent,
  StoredSchedule,
  StoredWorker,
  StuckAttempt,
  StuckQuery,
} from '../contract.ts';
import { addressKey } from '../memory/inbox.ts';
import { bookOf, type EventsRow, eventPageOf, type ScheduleRow, scheduleOf } from '../rows.ts';
import type { Connections } from './connections.ts';
import { jobList } from './job-list.ts';
import { type JobRow, jobOf, type TaskRow, taskOf } from './rows.ts';

/** What is read outside of commits. `given` is the instant of a test, null where the server's counts. */
export class Reads {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async now(given: number | null): Promise<number> {
    const rows = await this.#connections.read<{ at: number }>('now', given);
    return rows[0]?.at ?? 0;
  }

  async job(id: string): Promise<Job | null> {
    const [row] = await this.#connections.read<JobRow>('read-job', id);
    return row === undefined ? null : jobOf(row);
  }

  async tasks(jobIds: readonly string[]): Promise<Task[]> {
    return (await this.#connections.read<TaskRow>('read-tasks', jobIds)).map(taskOf);
  }

  async heldBy(worker: string): Promise<Task[]> {
    return (await this.#connections.read<TaskRow>('read-held', worker)).map(taskOf);
  }

  async jobs(query: JobQuery): Promise<Job[]> {
    const statuses = query.status ?? jobStatuses;
    const ended = statuses.filter(isFinal);
    const hot = statuses.filter((status) => !isFinal(status));
    const rows = await this.#connections.together(async (session) => {
      const list = (
        name: 'list-hot' | 'list-ended',
        among: readonly JobStatus[],
      ): Promise<(JobRow & { id: string })[]> => {
        if (among.length === 0) return Promise.resolve([]);
        const { text, parameters } = jobList(name, query, among);
        return session.allOf(text, parameters);
      };
      // What has a correlation id or an attribute is found by that, and sorted.
      const isFew = query.correlationId !== undefined || query.attributes !== undefined;
      const prepared = isFew ? [] : [session.all('list-in-order')];
      const lists = [list('list-hot', hot), list('list-ended', ended)];
      const [rows] = await Promise.all([Promise.all(lists), ...prepared]);
      return rows.flat();
    });
    return rows
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, query.limit)
      .map(jobOf);
  }

  async inbox(jobId: string, given: number | null): Promise<InboxItem[]> {
    const rows = await this.#connections.read<Omit<InboxItem, 'body'> & { body: string }>(
      'read-inbox',
      jobId,
      given,
    );
    return rows.map(({ body, ...item }) => ({ ...item, body: JSON.parse(body) as JsonValue }));
  }

  async seen(jobId: string, ids: readonly string[]): Promise<string[]> {
    const rows = await this.#connections.read<{ id: string }>('seen-among', jobId, ids);
    const found = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => found.has(id));
  }

  async addressed(client: string, key: string): Promise<string[]> {
    const address = addressKey(client, key);
    return idsOf(await this.#connections.read<{ id: string }>('addressed', address));
  }

  async memos(jobId: string): Promise<Record<string, JsonValue>> {
    const rows = await this.#connections.read<{ name: string; value: string }>('read-memos', jobId);
    return Object.fromEntries(rows.map(({ name, value }) => [name, JSON.parse(value)]));
  }

  async history(jobId: string, after: number, limit: number): Promise<StoredEntry[]> {
    const rows = await this.#connections.read<HistoryRow>('read-history', jobId, after, limit);
    return bookOf(rows, after, limit);
  }

  async loads(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#connections.read<{ worker: string; load: number }>('read-loads');
    return new Map(rows.map(({ worker, load }) => [worker, load]));
  }

  async latestPosition(): Promise<number> {
    const rows = await this.#connections.read<{ position: number }>('latest-position');
    return rows[0]?.position ?? 0;
  }

  async events(after: number, limit: number): Promise<EventPage> {
    // Two states: what the first statement calls visible the second one has to see.
    const rows = await this.#connections.together(async (session) => {
      const asked = [
        session.all('visible-position'),
        session.all<EventsRow>('read-events', after, limit),
      ] as const;
      return (await Promise.all(asked))[1];
    }, 'each');
    return eventPageOf(rows, after, limit);
  }

  async runnable(offered: readonly BlueprintId[], limit: number): Promise<string[]> {
    const [names, versions] = namesOf(offered);
    return idsOf(await this.#connections.read<{ id: string }>('runnable', names, versions, limit));
  }

  async queuedClasses(): Promise<TaskClass[]> {
    const rows = await this.#connections.read<{ class_key: string }>('queued-classes');
    return rows.map((row) => taskClassOf(row.class_key));
  }

  async workers(ids?: readonly string[]): Promise<StoredWorker[]> {
    const rows = await this.#connections.read<{
      worker: string;
      last_seen_at: number;
      silent_at: number;
    }>('read-workers', ids ?? null);
    return rows.map(({ worker, last_seen_at: lastSeenAt, silent_at: silentAt }) => ({
      worker: JSON.parse(worker) as WorkerRecord,
      lastSeenAt,
      silentAt,
    }));
  }

  async schedules(names?: readonly string[]): Promise<StoredSchedule[]> {
    const rows = await this.#connections.read<ScheduleRow>('read-schedules', names ?? null);
    return rows.map(scheduleOf);
  }

  async orphans(
    offered: readonly BlueprintId[],
    olderThanMs: number,
    limit: number,
    given: number | null,
  ): Promise<string[]> {
    const [names, versions] = namesOf(offered);
    return idsOf(
      await this.#connections.read('orphans', given, olderThanMs, names, versions, limit),
    );
  }

  async stuck(query: StuckQuery, given: number | null): Promise<StuckAttempt[]> {
    const { status, olderThanMs, limit } = query;
    const rows = await this.#connections.read<{ job: string; id: string; attempt_id: string }>(
      'stuck',
      given,
      status,
      olderThanMs,
      limit,
    );
    return rows.map((row) => ({ jobId: row.job, taskId: row.id, attempt: row.attempt_id }));
  }

  /** In how many ms an event may be tried again that is not due. */
  async nextEvent(given: number | null): Promise<number | null> {
    const rows = await this.#connections.read<{ ms: number | null }>('outbox-next', given);
    return rows[0]?.ms ?? null;
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetter[]> {
    const { limit, after, resolvedToo = false, ...only } = query;
    const { client = null, name = null, jobId = null, ids = null } = only;
    const rows = await this.#connections.read<LetterRow>(
      'dlq-list',
      after?.movedAt ?? -1,
      after?.id ?? '',
      resolvedToo,
      limit,
      client,
      name,
      jobId,
      ids,
    );
    return rows.map((row) => ({
      ...eventOf(row),
      movedAt: row.moved_at,
      resolvedAt: row.resolved_at,
      resolvedBy: row.resolved_by,
      notes: row.resolution_notes,
    }));
  }
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id);
}

function namesOf(offered: readonly BlueprintId[]): [string[], number[]] {
  return [offered.map(({ name }) => name), offered.map(({ version }) => version)];
}

type Metadata = Pick<OutboxEvent, 'client' | 'exchange' | 'sequence' | 'correlationId' | 'trace'>;

export interface EventRow {
  readonly id: string;
  readonly aggregate_id: string;
  readonly event_type: string;
  readonly payload: JsonValue;
  readonly metadata: Metadata;
  readonly created_at: number;
  readonly retry_count: number;
  readonly last_error: string | null;
}

interface LetterRow extends EventRow {
  readonly moved_at: number;
  readonly resolved_at: number | null;
  readonly resolved_by: string | null;
  readonly resolution_notes: string | null;
}

export function eventOf(row: EventRow): OutboxEvent {
  const { id, aggregate_id: jobId, event_type: name, created_at: createdAt } = row;
  return {
    id,
    jobId,
    name,
    // The server keeps keys in an order of its own.
    payload: JSON.parse(canonicalJson(row.payload)) as JsonValue,
    createdAt,
    retryCount: row.retry_count,
    lastError: row.last_error,
    ...row.metadata,
  };
}
