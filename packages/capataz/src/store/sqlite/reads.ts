import type { DatabaseSync } from 'node:sqlite';
import type { StoredEntry } from '../../core/history.ts';
import type { Job, Task } from '../../core/job.ts';
import type { Phase } from '../../core/phase.ts';
import type { TaskClass } from '../../core/requirements.ts';
import type { InboxItem } from '../../core/signal.ts';
import { isFinal, type JobStatus, jobStatuses } from '../../core/status.ts';
import type { WorkerRecord } from '../../core/worker.ts';
import type { JsonValue } from '../../std/json.ts';
import type {
  BlueprintId,
  CausesQuery,
  Counts,
  DeadLetter,
  DeadLetterQuery,
  EventPage,
  HistoryRow,
  JobCauses,
  JobQuery,
  OutboxEvent,
  OutboxPage,
  StoredSchedule,
  StoredWorker,
  StuckAttempt,
  StuckQuery,
} from '../contract.ts';
import {
  bookOf,
  deadlinesOf,
  type EventsRow,
  eventPageOf,
  type ScheduleRow,
  scheduleOf,
} from '../rows.ts';
import { deadlineList, isRunnable, PhaseCounter } from '../rules.ts';
import { jobList } from './job-list.ts';
import { type JobRow, jobOf, type TaskRow, taskOf } from './rows.ts';
import { Statements } from './statements.ts';

/** The connection that reads, on the engine's own thread: it sees every commit that was answered. */
export class Reads {
  readonly statements: Statements;
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.statements = new Statements(database);
  }

  close(): void {
    this.#database.close();
  }

  /** Several statements over one state of the store. */
  together<T>(read: () => T): T {
    this.#database.exec('BEGIN');
    try {
      return read();
    } finally {
      this.#database.exec('COMMIT');
    }
  }

  /** Hot first: a job only ever moves from there to the ended ones. */
  job(id: string): Job | null {
    const row =
      this.statements.get<JobRow>('read-job', id) ?? this.statements.get<JobRow>('read-ended', id);
    return row === undefined ? null : jobOf(row);
  }

  tasks(jobIds: readonly string[]): Task[] {
    return this.statements.all<TaskRow>('read-tasks', JSON.stringify(jobIds)).map(taskOf);
  }

  heldBy(worker: string): Task[] {
    return this.statements.all<TaskRow>('read-held', worker).map(taskOf);
  }

  loads(): ReadonlyMap<string, number> {
    const rows = this.statements.all<{ worker: string; load: number }>('read-loads');
    return new Map(rows.map(({ worker, load }) => [worker, load]));
  }

  latestPosition(): number {
    return this.statements.one<{ position: number }>('marks').position;
  }

  jobs(query: JobQuery): Job[] {
    const statuses = query.status ?? jobStatuses;
    const ended = statuses.filter(isFinal);
    const hot = statuses.filter((status) => !isFinal(status));
    const list = (name: 'list-hot' | 'list-ended', among: readonly JobStatus[]): JobRow[] => {
      if (among.length === 0) return [];
      const { text, parameters } = jobList(name, query, among);
      return this.statements.allOf<JobRow>(text, ...parameters);
    };
    const rows = this.together(() => [...list('list-hot', hot), ...list('list-ended', ended)]);
    return rows
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, query.limit)
      .map(jobOf);
  }

  inbox(jobId: string, at: number): InboxItem[] {
    const rows = this.statements.all<Omit<InboxItem, 'body'> & { body: string }>(
      'read-inbox',
      jobId,
      at,
    );
    return rows.map(({ id, kind, name, body }) => ({
      id,
      kind,
      name,
      body: JSON.parse(body) as JsonValue,
    }));
  }

  addressed(client: string, key: string): string[] {
    return this.statements.all<{ id: string }>('addressed', client, key).map(({ id }) => id);
  }

  memos(jobId: string): Record<string, JsonValue> {
    const rows = this.statements.all<{ name: string; value: string }>('read-memos', jobId);
    return Object.fromEntries(rows.map(({ name, value }) => [name, JSON.parse(value)]));
  }

  history(jobId: string, after: number, limit: number): StoredEntry[] {
    const rows = this.statements.all<HistoryRow>('read-history', jobId, after, limit);
    return bookOf(rows, after, limit);
  }

  events(after: number, limit: number): EventPage {
    const rows = this.statements.all<EventsRow>('read-events', after, limit);
    return eventPageOf(rows, after, limit);
  }

  runnable(offered: readonly BlueprintId[], limit: number): string[] {
    const found = this.together(() =>
      offered.flatMap(({ name, version }) =>
        this.statements.all<{ n: number; id: string }>('runnable', name, version, limit),
      ),
    );
    return found
      .sort((a, b) => a.n - b.n)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  queuedClasses(): TaskClass[] {
    const rows = this.statements.all<{ class: string }>('queued-classes');
    return rows.map((row) => JSON.parse(row.class) as TaskClass);
  }

  workers(ids?: readonly string[]): StoredWorker[] {
    const rows = this.statements.all<{ worker: string; last_seen_at: number; silent_at: number }>(
      'read-workers',
      ids === undefined ? null : JSON.stringify(ids),
    );
    return rows.map(({ worker, last_seen_at: lastSeenAt, silent_at: silentAt }) => ({
      worker: JSON.parse(worker) as WorkerRecord,
      lastSeenAt,
      silentAt,
    }));
  }

  schedules(names?: readonly string[]): StoredSchedule[] {
    const wanted = names === undefined ? null : JSON.stringify(names);
    return this.statements.all<ScheduleRow>('read-schedules', wanted).map(scheduleOf);
  }

  orphans(offered: readonly BlueprintId[], since: number, limit: number): string[] {
    const found = this.together(() =>
      this.#openBlueprints()
        .filter(
          ({ name, version }) =>
            !offered.some((own) => own.name === name && own.version === version),
        )
        .filter(
          ({ name, version }) =>
            this.statements.get('offered-since', name, version, since) === undefined,
        )
        .flatMap(({ name, version }) =>
          this.statements.all<{ n: number; id: string }>('jobs-of-blueprint', name, version, limit),
        ),
    );
    return found
      .sort((a, b) => a.n - b.n)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  #openBlueprints(): BlueprintId[] {
    const found: BlueprintId[] = [];
    for (let last: BlueprintId = { name: '', version: 0 }; ; ) {
      const row = this.statements.get<{ blueprint: string; blueprint_version: number }>(
        'next-blueprint',
        last.name,
        last.version,
      );
      if (row === undefined) return found;
      last = { name: row.blueprint, version: row.blueprint_version };
      found.push(last);
    }
  }

  counts(): Counts {
    return this.together(() => {
      const jobs: Partial<Record<JobStatus, number>> = {};
      const tasks: Partial<Record<Task['status'], number>> = {};
      let queued = 0;
      let lostEntries = 0;
      let timedOut = 0;
      for (const { status, count } of this.statements.all<{ status: JobStatus; count: number }>(
        'count-jobs',
      ))
        jobs[status] = count;
      for (const row of this.statements.all<{
        status: Task['status'];
        count: number;
        queued: number;
      }>('count-tasks')) {
        tasks[row.status] = row.count;
        queued += row.queued;
      }
      for (const { name, value } of this.statements.all<{ name: string; value: number }>(
        'counters',
      )) {
        if (name.startsWith('ended:') && value > 0)
          jobs[name.slice('ended:'.length) as JobStatus] = value;
        if (name === 'lost_entries') lostEntries = value;
        if (name === 'timed_out') timedOut = value;
      }
      const { outbox, dead: deadLetters } = this.statements.one<{ outbox: number; dead: number }>(
        'outbox-counts',
      );
      const phases = this.#phases(jobs, timedOut);
      return { jobs, tasks, queued, outbox, deadLetters, lostEntries, phases };
    });
  }

  #phases(
    { finished = 0, failed = 0, cancelled = 0 }: Counts['jobs'],
    timedOut: number,
  ): Counts['phases'] {
    const phases = new PhaseCounter();
    phases.add('SUCCEEDED', finished, null);
    phases.add('FAILED', failed - timedOut, null);
    phases.add('TIMEOUT', timedOut, null);
    phases.add('CANCELLED', cancelled, null);
    const open = this.statements.all<{ phase: Phase; count: number; since: number }>(
      'count-phases',
    );
    for (const { phase, count, since } of open) phases.add(phase, count, since);
    return phases.counts;
  }

  stuck({ status, olderThanMs, limit }: StuckQuery, at: number): StuckAttempt[] {
    const rows = this.statements.all<{ job_id: string; task_id: string; attempt_id: string }>(
      'stuck',
      status,
      at - olderThanMs,
      limit,
    );
    return rows.map((row) => ({
      jobId: row.job_id,
      taskId: row.task_id,
      attempt: row.attempt_id,
    }));
  }

  seen(jobId: string, ids: readonly string[]): string[] {
    const rows = this.statements.all<{ id: string }>('seen-among', jobId, JSON.stringify(ids));
    return rows.map(({ id }) => id);
  }

  outbox(limit: number, at: number): OutboxPage {
    return this.together(() => {
      const rows = this.statements.all<EventRow>('outbox-due', at, limit);
      const next = this.statements.one<{ at: number | null }>('outbox-next', at).at;
      return { events: rows.map(eventOf), nextInMs: next === null ? null : next - at };
    });
  }

  deadLetters({ limit, after, resolvedToo = false, ...only }: DeadLetterQuery): DeadLetter[] {
    const { client = null, name = null, jobId = null, ids } = only;
    const rows = this.statements.all<LetterRow>(
      'dlq-list',
      after?.movedAt ?? -1,
      after?.id ?? '',
      Number(resolvedToo),
      limit,
      client,
      name,
      jobId,
      ids === undefined ? null : JSON.stringify(ids),
    );
    return rows.map((row) => ({
      ...eventOf(row),
      movedAt: row.moved_at,
      resolvedAt: row.resolved_at,
      resolvedBy: row.resolved_by,
      notes: row.resolution_notes,
    }));
  }

  causes(of: CausesQuery): JobCauses[] {
    return this.together(() => {
      const jobs =
        'id' in of
          ? this.statements.all<JobRow>('read-job', of.id)
          : this.statements.all<JobRow>('causes', of.after, of.limit);
      const tasks = this.statements.all<TaskRow>(
        'id' in of ? 'read-tasks' : 'causes-tasks',
        JSON.stringify(jobs.map(({ id }) => id)),
      );
      const workers = [...new Set(tasks.flatMap(({ worker }) => worker ?? []))];
      const known = this.statements.all<{ id: string }>('known-workers', JSON.stringify(workers));
      const knownIds = new Set(known.map(({ id }) => id));
      const ofJobs = Map.groupBy(tasks, (task) => task.job_id);
      const causes = jobs.map((job) => causesOf(job, ofJobs.get(job.id) ?? [], knownIds));
      return this.#withChildren(causes);
    });
  }

  #withChildren(causes: readonly Omit<JobCauses, 'childIsOpen'>[]): JobCauses[] {
    const children = causes.map(({ job: { wait } }) => (wait?.type === 'child' ? wait.jobId : ''));
    const named = children.filter((id) => id !== '');
    const found =
      named.length === 0
        ? []
        : this.statements.all<{ id: string }>('hot-among', JSON.stringify(named));
    const open = new Set(found.map(({ id }) => id));
    return causes.map((one, index) => ({ ...one, childIsOpen: open.has(children[index] ?? '') }));
  }
}

function causesOf(
  row: JobRow,
  tasks: readonly TaskRow[],
  knownWorkers: ReadonlySet<string>,
): Omit<JobCauses, 'childIsOpen'> {
  const job = jobOf(row);
  const ownTimers = deadlineList(deadlinesOf(row)).map((timer) => ({ taskId: null, ...timer }));
  const taskTimers = tasks.flatMap((task) =>
    deadlineList(deadlinesOf(task)).map((timer) => ({ taskId: task.id, ...timer })),
  );
  return {
    job,
    tasks: tasks.map(taskOf),
    runnable: isRunnable(job),
    leaseEndsAt: row.lease_until,
    timers: [...ownTimers, ...taskTimers],
    queued: tasks.filter(({ queued }) => queued === 1).map(({ id }) => id),
    watched: tasks
      .filter(({ worker }) => worker !== null && knownWorkers.has(worker))
      .map(({ id }) => id),
  };
}

interface EventRow {
  readonly id: string;
  readonly aggregate_id: string;
  readonly event_type: string;
  readonly payload: string;
  readonly metadata: string;
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

function eventOf(row: EventRow): OutboxEvent {
  const { id, aggregate_id: jobId, event_type: name, created_at: createdAt } = row;
  return {
    id,
    jobId,
    name,
    payload: JSON.parse(row.payload),
    createdAt,
    retryCount: row.retry_count,
    lastError: row.last_error,
    // Written by `writeEmits`.
    ...(JSON.parse(row.metadata) as Pick<
      OutboxEvent,
      'client' | 'exchange' | 'sequence' | 'correlationId' | 'trace'
    >),
  };
}
