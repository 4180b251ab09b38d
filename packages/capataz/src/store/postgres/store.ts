import type { StoredEntry } from '../../core/history.ts';
import type { Job, Task } from '../../core/job.ts';
import type { TaskClass } from '../../core/requirements.ts';
import type { InboxItem } from '../../core/signal.ts';
import type { WorkerRecord } from '../../core/worker.ts';
import { canonicalJson, type JsonValue } from '../../std/json.ts';
import type {
  ArchiveMark,
  BlueprintId,
  BlueprintOffer,
  BookPage,
  Capabilities,
  CausesQuery,
  Counts,
  DeadLetter,
  DeadLetterQuery,
  DuePage,
  EventPage,
  Forget,
  Forgotten,
  JobCauses,
  JobQuery,
  LeaseRenewal,
  Memo,
  MovedBooks,
  News,
  OutboxPage,
  OutboxVerdict,
  ScheduleChange,
  ScheduleOutcome,
  Store,
  StoredSchedule,
  StoredWorker,
  StuckAttempt,
  StuckQuery,
  Work,
  WorkerTouch,
  WorkOutcome,
} from '../contract.ts';
import { scheduleOutcome } from '../rows.ts';
import { archiveMark, booksMoved, booksToMove } from './books.ts';
import type { Connections } from './connections.ts';
import { causes, counts, duePage } from './gauges.ts';
import type { Partitions } from './partitions.ts';
import { type EventRow, eventOf, Reads } from './reads.ts';
import { forgetEnded } from './retention.ts';
import type { WakeUps } from './wake-ups.ts';
import { Writer, type WriterParts } from './writer.ts';

/** `writing` is for commits alone: as many connections as may be under way. */
export interface PostgresParts extends WriterParts {
  /** By which other instances know whose commit they are told of. */
  readonly id: string;
  readonly others: Connections;
  readonly wakeUps: WakeUps;
}

/** Commits go over connections of their own; what else there is does not wait. */
export class OpenPostgresStore implements Store {
  readonly capabilities: Capabilities = { name: 'postgres', durable: true, shared: true };
  readonly #writing: Connections;
  readonly #others: Connections;
  readonly #wakeUps: WakeUps;
  readonly #reads: Reads;
  readonly #writer: Writer;
  readonly #partitions: Partitions;
  readonly #givenNow: () => number | null;
  readonly #id: string;
  #latest = 0;
  #closing: Promise<void> | null = null;

  constructor(parts: PostgresParts) {
    this.#writing = parts.writing;
    this.#others = parts.others;
    this.#givenNow = parts.givenNow;
    this.#id = parts.id;
    this.#wakeUps = parts.wakeUps;
    this.#reads = new Reads(parts.others);
    this.#writer = new Writer(parts);
    this.#partitions = parts.partitions;
  }

  subscribe(listener: (news: News) => void): () => void {
    return this.#wakeUps.subscribe(listener);
  }

  async now(): Promise<number> {
    this.#latest = Math.max(this.#latest, await this.#reads.now(this.#givenNow()));
    return this.#latest;
  }

  commit(work: Work): Promise<WorkOutcome> {
    return this.#writer.commit(work);
  }

  job(id: string): Promise<Job | null> {
    return this.#reads.job(id);
  }

  tasks(jobIds: readonly string[]): Promise<Task[]> {
    return this.#reads.tasks(jobIds);
  }

  jobs(query: JobQuery): Promise<Job[]> {
    return this.#reads.jobs(query);
  }

  inbox(jobId: string): Promise<InboxItem[]> {
    return this.#reads.inbox(jobId, this.#givenNow());
  }

  seen(jobId: string, ids: readonly string[]): Promise<string[]> {
    return this.#reads.seen(jobId, ids);
  }

  addressed(client: string, key: string): Promise<string[]> {
    return this.#reads.addressed(client, key);
  }

  memos(jobId: string): Promise<Readonly<Record<string, JsonValue>>> {
    return this.#reads.memos(jobId);
  }

  async saveMemo({ jobId, token, name, value }: Memo): Promise<boolean> {
    const text = canonicalJson(value);
    return (await this.#others.write('memo-save', jobId, token, name, text)).length > 0;
  }

  history(jobId: string, after: number, limit: number): Promise<StoredEntry[]> {
    return this.#reads.history(jobId, after, limit);
  }

  events(after: number, limit: number): Promise<EventPage> {
    return this.#reads.events(after, limit);
  }

  latestPosition(): Promise<number> {
    return this.#reads.latestPosition();
  }

  booksToMove(endedForMs: number, limit: number): Promise<BookPage> {
    return booksToMove(this.#others, this.#givenNow(), endedForMs, limit);
  }

  booksMoved(books: MovedBooks): Promise<void> {
    return booksMoved(this.#others, books, this.#givenNow());
  }

  archived(jobId?: string): Promise<ArchiveMark> {
    return archiveMark(this.#others, jobId);
  }

  async forgottenInArchive(limit: number): Promise<string[]> {
    const rows = await this.#others.read<{ job: string }>('archive-forgotten', limit);
    return rows.map(({ job }) => job);
  }

  async archiveForgot(jobIds: readonly string[]): Promise<void> {
    await this.#others.write('archive-forgot', jobIds);
  }

  due(limit: number): Promise<DuePage> {
    return duePage(this.#others, this.#givenNow(), limit);
  }

  runnable(offered: readonly BlueprintId[], limit: number): Promise<string[]> {
    return this.#reads.runnable(offered, limit);
  }

  async renewLeases(leases: readonly LeaseRenewal[]): Promise<string[]> {
    const rows = await this.#others.write<{ token: string }>(
      'leases-renew',
      this.#givenNow(),
      leases.map(({ jobId }) => jobId),
      leases.map(({ token }) => token),
      leases.map(({ forMs }) => forMs),
    );
    const current = new Set(rows.map(({ token }) => token));
    return leases.flatMap(({ token }) => (current.has(token) ? [] : [token]));
  }

  queuedClasses(): Promise<TaskClass[]> {
    return this.#reads.queuedClasses();
  }

  heldBy(worker: string): Promise<Task[]> {
    return this.#reads.heldBy(worker);
  }

  loads(): Promise<ReadonlyMap<string, number>> {
    return this.#reads.loads();
  }

  async saveWorker(worker: WorkerRecord, silentAfterMs: number): Promise<void> {
    const text = JSON.stringify(worker);
    const row = [worker.id, text, silentAfterMs] as const;
    await this.#others.write('worker-save', this.#givenNow(), ...row, this.#id);
  }

  async touchWorkers(touches: readonly WorkerTouch[]): Promise<void> {
    const rows = touches.map(({ id, silentAfterMs, worker, unseen = false }, place) => ({
      ...{ id, unseen, place },
      worker: worker === undefined ? null : JSON.stringify(worker),
      silent_after: silentAfterMs,
    }));
    await this.#others.write('workers-touch', this.#givenNow(), JSON.stringify(rows), this.#id);
  }

  workers(ids?: readonly string[]): Promise<StoredWorker[]> {
    return this.#reads.workers(ids);
  }

  async removeWorker(id: string, incarnation: string): Promise<void> {
    await this.#others.write('worker-remove', id, incarnation, this.#id);
  }

  async offerBlueprint({ name, version, graph }: BlueprintOffer): Promise<string> {
    const given = this.#givenNow();
    const parameters = [given, name, version, graph] as const;
    const rows = await this.#others.write<{ graph: string }>('blueprint-offer', ...parameters);
    return rows[0]?.graph ?? graph;
  }

  orphans(offered: readonly BlueprintId[], olderThanMs: number, limit: number): Promise<string[]> {
    return this.#reads.orphans(offered, olderThanMs, limit, this.#givenNow());
  }

  async outbox(limit: number, holdMs: number): Promise<OutboxPage> {
    const given = this.#givenNow();
    const due = [given, limit, this.#id, holdMs] as const;
    const events = await this.#others.write<EventRow>('outbox-due', ...due);
    return { events: events.map(eventOf), nextInMs: await this.#reads.nextEvent(given) };
  }

  async settleOutbox(verdicts: readonly OutboxVerdict[]): Promise<void> {
    const rows = verdicts.map((verdict, place) => ({
      ...{ id: verdict.id, type: verdict.type, place },
      error: 'error' in verdict ? verdict.error : null,
      retry_after: 'retryAfterMs' in verdict ? verdict.retryAfterMs : null,
    }));
    await this.#others.write('outbox-settle', this.#givenNow(), JSON.stringify(rows));
  }

  deadLetters(query: DeadLetterQuery): Promise<DeadLetter[]> {
    return this.#reads.deadLetters(query);
  }

  async redriveLetters(ids: readonly string[]): Promise<string[]> {
    const given = this.#givenNow();
    const rows = await this.#others.write<{ id: string }>('dlq-redrive', given, ids);
    return rows.map(({ id }) => id);
  }

  async resolveLetters(ids: readonly string[], by: string, notes: string): Promise<string[]> {
    const parameters = [this.#givenNow(), ids, by, notes] as const;
    const rows = await this.#others.write<{ id: string }>('dlq-resolve', ...parameters);
    return rows.map(({ id }) => id);
  }

  async forgetLetters(olderThanMs: number, limit: number): Promise<number> {
    const parameters = [this.#givenNow(), olderThanMs, limit] as const;
    const rows = await this.#others.write<{ count: number }>('dlq-forget', ...parameters);
    return rows[0]?.count ?? 0;
  }

  schedules(names?: readonly string[]): Promise<StoredSchedule[]> {
    return this.#reads.schedules(names);
  }

  async keepSchedule(name: string, change: ScheduleChange): Promise<ScheduleOutcome> {
    const { expected, handled = null, recent, pause } = change;
    const given = this.#givenNow();
    const text = recent === undefined ? null : canonicalJson(recent);
    const wanted = [handled, text, pause?.isPaused ?? null, pause?.by ?? null] as const;
    const statement = expected === null ? 'schedule-insert' : 'schedule-keep';
    const first = expected === null ? [] : [expected];
    const rows = await this.#others.write(statement, given, name, ...wanted, ...first);
    return scheduleOutcome(rows.length > 0, await this.schedules([name]));
  }

  stuck(query: StuckQuery): Promise<StuckAttempt[]> {
    return this.#reads.stuck(query, this.#givenNow());
  }

  counts(): Promise<Counts> {
    return counts(this.#others);
  }

  causes(of: CausesQuery): Promise<JobCauses[]> {
    return causes(this.#others, of);
  }

  async forgetEnded(what: Forget): Promise<Forgotten> {
    // It counts what has ended, also with a commit that was asked for before.
    await this.#writer.settled();
    const forgotten = await forgetEnded(this.#others, what, this.#givenNow());
    if (!forgotten.more) await this.#partitions.dropEmpty();
    return forgotten;
  }

  async takeOver(graceMs: number): Promise<void> {
    await this.#others.write('take-over', this.#givenNow(), graceMs);
  }

  /** Calling it again waits for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#wakeUps.close()]);
    await Promise.all([this.#writing.close(), this.#others.close()]);
  }
}
