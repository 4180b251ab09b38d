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
import { unavailable } from '../refusals.ts';
import { scheduleOutcome } from '../rows.ts';
import type { StoreTime } from '../store-time.ts';
import { archiveMark, booksToMove, movedMessage } from './books.ts';
import { duePage } from './due.ts';
import { decodeOutcome, encodeWork } from './encode.ts';
import { outage } from './errors.ts';
import type { StoreLock } from './lock.ts';
import type { Answer, Done, Operation } from './messages.ts';
import type { DatabasePlace } from './place.ts';
import type { Reads } from './reads.ts';
import type { WriterKeeper } from './writer-keeper.ts';

/** A store that can also be told where its server listens. */
export interface SqliteStore extends Store {
  /** Writes the address beside the lock, for the CLI to find (S-67); null takes it away. */
  publishUrl(url: string | null): void;
}

export interface SqliteParts {
  readonly reads: Reads;
  readonly writer: WriterKeeper;
  readonly place: DatabasePlace;
  readonly lock: StoreLock;
  readonly time: StoreTime;
  /** Whether each commit waits until the disk has it. */
  readonly durable: boolean;
}

/** Writes go to the writing thread, reads are done here. */
export class OpenSqliteStore implements SqliteStore {
  readonly capabilities: Capabilities;
  readonly #reads: Reads;
  readonly #writer: WriterKeeper;
  readonly #place: DatabasePlace;
  readonly #lock: StoreLock;
  readonly #time: StoreTime;
  #closing: Promise<void> | null = null;

  constructor({ reads, writer, place, lock, time, durable }: SqliteParts) {
    this.capabilities = { name: 'sqlite', durable, shared: false };
    this.#reads = reads;
    this.#writer = writer;
    this.#place = place;
    this.#lock = lock;
    this.#time = time;
  }

  publishUrl(url: string | null): void {
    this.#lock.publishUrl(url);
  }

  async now(): Promise<number> {
    return this.#time.now();
  }

  async commit(work: Work): Promise<WorkOutcome> {
    const at = this.#time.now();
    const { operation, jobs } = encodeWork(work, at);
    const done = await this.#ask({ ...operation, at });
    return decodeOutcome(done, jobs, work.claims ?? [], at);
  }

  async job(id: string): Promise<Job | null> {
    return this.#read((reads) => reads.job(id));
  }

  async tasks(jobIds: readonly string[]): Promise<Task[]> {
    return this.#read((reads) => reads.tasks(jobIds));
  }

  async jobs(query: JobQuery): Promise<Job[]> {
    return this.#read((reads) => reads.jobs(query));
  }

  async inbox(jobId: string): Promise<InboxItem[]> {
    return this.#read((reads) => reads.inbox(jobId, this.#time.now()));
  }

  async addressed(client: string, key: string): Promise<string[]> {
    return this.#read((reads) => reads.addressed(client, key));
  }

  async memos(jobId: string): Promise<Readonly<Record<string, JsonValue>>> {
    return this.#read((reads) => reads.memos(jobId));
  }

  async saveMemo({ jobId, token, name, value }: Memo): Promise<boolean> {
    const at = this.#time.now();
    const texts = [canonicalJson(value)];
    return (await this.#write({
      type: 'save_memo',
      at,
      texts,
      jobId,
      token,
      name,
      value: 0,
    })) as boolean;
  }

  async stuck(query: StuckQuery): Promise<StuckAttempt[]> {
    return this.#read((reads) => reads.stuck(query, this.#time.now()));
  }

  async seen(jobId: string, ids: readonly string[]): Promise<string[]> {
    return this.#read((reads) => reads.seen(jobId, ids));
  }

  /** One instance has them all, so that they need not be held. */
  async outbox(limit: number): Promise<OutboxPage> {
    return this.#read((reads) => reads.outbox(limit, this.#time.now()));
  }

  async settleOutbox(verdicts: readonly OutboxVerdict[]): Promise<void> {
    await this.#write({ type: 'settle_outbox', at: this.#time.now(), verdicts });
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetter[]> {
    return this.#read((reads) => reads.deadLetters(query));
  }

  async redriveLetters(ids: readonly string[]): Promise<string[]> {
    return (await this.#write({
      type: 'redrive_letters',
      at: this.#time.now(),
      ids,
    })) as string[];
  }

  async resolveLetters(ids: readonly string[], by: string, notes: string): Promise<string[]> {
    return (await this.#write({
      type: 'resolve_letters',
      at: this.#time.now(),
      ids,
      by,
      notes,
    })) as string[];
  }

  async forgetLetters(olderThanMs: number, limit: number): Promise<number> {
    const at = this.#time.now();
    const operation = { type: 'forget_letters', at, before: at - olderThanMs, limit } as const;
    return (await this.#write(operation)) as number;
  }

  async schedules(names?: readonly string[]): Promise<StoredSchedule[]> {
    return this.#read((reads) => reads.schedules(names));
  }

  async keepSchedule(name: string, change: ScheduleChange): Promise<ScheduleOutcome> {
    const { recent, ...rest } = change;
    const texts = recent === undefined ? {} : { recent: canonicalJson(recent) };
    const at = this.#time.now();
    const isDone = await this.#write({ type: 'keep_schedule', at, name, ...rest, ...texts });
    return scheduleOutcome(isDone === true, await this.schedules([name]));
  }

  async history(jobId: string, after: number, limit: number): Promise<StoredEntry[]> {
    return this.#read((reads) => reads.history(jobId, after, limit));
  }

  async events(after: number, limit: number): Promise<EventPage> {
    return this.#read((reads) => reads.events(after, limit));
  }

  async latestPosition(): Promise<number> {
    return this.#read((reads) => reads.latestPosition());
  }

  async booksToMove(endedForMs: number, limit: number): Promise<BookPage> {
    return this.#read((reads) => booksToMove(reads, this.#time.now() - endedForMs, limit));
  }

  async booksMoved(books: MovedBooks): Promise<void> {
    await this.#write({ ...movedMessage(books), at: this.#time.now() });
  }

  async archived(jobId?: string): Promise<ArchiveMark> {
    return this.#read((reads) => archiveMark(reads, jobId));
  }

  async forgottenInArchive(limit: number): Promise<string[]> {
    return this.#read(({ statements }) =>
      statements.all<{ job: string }>('archive-forgotten', limit).map(({ job }) => job),
    );
  }

  async archiveForgot(jobIds: readonly string[]): Promise<void> {
    await this.#write({ type: 'archive_forgot', at: this.#time.now(), jobIds });
  }

  async due(limit: number): Promise<DuePage> {
    return this.#read((reads) => duePage(reads, this.#time.now(), limit));
  }

  async runnable(offered: readonly BlueprintId[], limit: number): Promise<string[]> {
    return this.#read((reads) => reads.runnable(offered, limit));
  }

  async renewLeases(leases: readonly LeaseRenewal[]): Promise<string[]> {
    const at = this.#time.now();
    const renewals = leases.map(({ jobId, token, forMs }) => ({ jobId, token, until: at + forMs }));
    return (await this.#write({ type: 'renew_leases', at, leases: renewals })) as string[];
  }

  async queuedClasses(): Promise<TaskClass[]> {
    return this.#read((reads) => reads.queuedClasses());
  }

  async heldBy(worker: string): Promise<Task[]> {
    return this.#read((reads) => reads.heldBy(worker));
  }

  async loads(): Promise<ReadonlyMap<string, number>> {
    return this.#read((reads) => reads.loads());
  }

  async saveWorker(worker: WorkerRecord, silentAfterMs: number): Promise<void> {
    const at = this.#time.now();
    const { id } = worker;
    await this.#write({
      type: 'save_worker',
      at,
      id,
      worker: JSON.stringify(worker),
      silentAt: at + silentAfterMs,
    });
  }

  async touchWorkers(touches: readonly WorkerTouch[]): Promise<void> {
    const at = this.#time.now();
    const messages = touches.map(({ id, silentAfterMs, worker, unseen = false }) => ({
      id,
      worker: worker === undefined ? null : JSON.stringify(worker),
      seenAt: unseen ? null : at,
      silentAt: at + silentAfterMs,
    }));
    await this.#write({ type: 'touch_workers', at, touches: messages });
  }

  async workers(ids?: readonly string[]): Promise<StoredWorker[]> {
    return this.#read((reads) => reads.workers(ids));
  }

  async removeWorker(id: string, incarnation: string): Promise<void> {
    await this.#write({ type: 'remove_worker', at: this.#time.now(), id, incarnation });
  }

  async offerBlueprint({ name, version, graph }: BlueprintOffer): Promise<string> {
    const at = this.#time.now();
    return (await this.#write({
      type: 'offer_blueprint',
      at,
      name,
      version,
      graph,
    })) as string;
  }

  async orphans(
    offered: readonly BlueprintId[],
    olderThanMs: number,
    limit: number,
  ): Promise<string[]> {
    return this.#read((reads) => reads.orphans(offered, this.#time.now() - olderThanMs, limit));
  }

  async counts(): Promise<Counts> {
    return this.#read((reads) => reads.counts());
  }

  async causes(of: CausesQuery): Promise<JobCauses[]> {
    return this.#read((reads) => reads.causes(of));
  }

  async forgetEnded(what: Forget): Promise<Forgotten> {
    const at = this.#time.now();
    return (await this.#write({ type: 'forget_ended', at, what })) as Forgotten;
  }

  async takeOver(graceMs: number): Promise<void> {
    await this.#write({ type: 'take_over', at: this.#time.now(), graceMs });
  }

  /** It serves one instance. */
  subscribe(): () => void {
    return () => undefined;
  }

  /** Calling it again waits for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The reading connection goes first, so that the writer can fold the WAL back completely. */
  async #close(): Promise<void> {
    this.#reads.close();
    try {
      await this.#writer.close(this.#time.now());
    } finally {
      this.#lock.release();
    }
  }

  async #write(operation: Operation): Promise<Answer> {
    return (await this.#ask(operation)).answer;
  }

  /** @throws CapatazError STORE_UNAVAILABLE */
  async #ask(operation: Operation): Promise<Done> {
    const problem = this.#place.problem();
    if (problem !== null) throw unavailable(problem);
    return this.#writer.ask(operation);
  }

  #read<T>(read: (reads: Reads) => T): T {
    if (this.#closing !== null) throw unavailable('it is closed');
    try {
      return read(this.#reads);
    } catch (error) {
      const why = outage(error);
      throw why === null ? error : unavailable(why, error);
    }
  }
}
