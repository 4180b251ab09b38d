import type { StoredEntry } from '../../core/history.ts';
import type { Job, Task } from '../../core/job.ts';
import type { TaskClass } from '../../core/requirements.ts';
import type { InboxItem } from '../../core/signal.ts';
import type { WorkerRecord } from '../../core/worker.ts';
import { CapatazError } from '../../protocol/errors.ts';
import type { Clock } from '../../std/clock.ts';
import type { JsonValue } from '../../std/json.ts';
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
import { Chains, HandOutRoom } from '../rules.ts';
import { StoreTime } from '../store-time.ts';
import {
  archiveForgot,
  archiveMark,
  booksMoved,
  booksToMove,
  forgottenInArchive,
} from './books.ts';
import { applyChained } from './changes.ts';
import { applyClaim, applyStart } from './claims.ts';
import { copyOf, MemoryData } from './data.ts';
import { addressed, post, unexpired } from './inbox.ts';
import { deadLettersOf, forgetResolved, outboxPage, redrive, resolve, settle } from './outbox.ts';
import {
  causesOf,
  classesQueued,
  countAll,
  duePage,
  eventsAfter,
  jobsMatching,
  loadsOf,
  offerKey,
  orphanedJobs,
  runnableJobs,
  stuckAttempts,
  taskRecords,
  tasksHeldBy,
  withoutPayloads,
} from './reads.ts';
import { forgetEnded } from './retention.ts';
import { keepSchedule, schedulesOf } from './schedules.ts';

export interface MemoryStoreOptions {
  readonly clock: Clock;
  /** Several stores may be open on the same data at once, as instances are on a server. Default false. */
  readonly shared?: boolean;
}

/** A store of its own, gone with the process. */
export function createMemoryStore(options: MemoryStoreOptions): Store {
  return openMemoryStore(new MemoryData(), options);
}

/** A store on data that outlives it: what one engine left there, the next one finds. */
export function openMemoryStore(
  data: MemoryData,
  { clock, shared = false }: MemoryStoreOptions,
): Store {
  return new MemoryStore(data, clock, shared);
}

/** Several instances go by one clock, as those on a server do. */
function timeOf(data: MemoryData, clock: Clock, shared: boolean): StoreTime {
  if (!shared) return new StoreTime(clock, data.latest);
  data.time ??= new StoreTime(clock, data.latest);
  return data.time;
}

/** The reference. It scans where a database has an index: it is for tests, not for a crowd. */
class MemoryStore implements Store {
  readonly capabilities: Capabilities;
  readonly #data: MemoryData;
  readonly #time: StoreTime;
  #isClosed = false;

  constructor(data: MemoryData, clock: Clock, shared: boolean) {
    this.capabilities = { name: 'memory', durable: false, shared };
    this.#data = data;
    this.#time = timeOf(data, clock, shared);
  }

  /** Every verb begins here. @throws CapatazError STORE_UNAVAILABLE once the store is closed. */
  #begin(): number {
    if (this.#isClosed) throw new CapatazError('STORE_UNAVAILABLE', 'The store is closed.');
    this.#data.latest = Math.max(this.#data.latest, this.#time.now());
    return this.#data.latest;
  }

  async now(): Promise<number> {
    return this.#begin();
  }

  async commit(work: Work): Promise<WorkOutcome> {
    const { changes = [], starts = [], notes = [], claims = [], letters = [] } = work;
    const at = this.#begin();
    const data = this.#data;
    const chains = new Chains();
    const changeOutcomes = changes.map((request) => applyChained(data, request, at, chains));
    for (const start of starts) applyStart(data, start, at);
    for (const { jobId, entries } of notes) {
      const job = data.open.get(jobId)?.job ?? data.ended.get(jobId);
      if (job !== undefined) data.write(job, entries, at);
    }
    const letterOutcomes = letters.map((letter) => post(data, letter, at));
    const room = new HandOutRoom();
    const claimOutcomes = claims.map((claim) => applyClaim(data, claim, room, at));
    this.#tell({ type: 'commit' });
    return { at, changes: changeOutcomes, claims: claimOutcomes, letters: letterOutcomes };
  }

  async job(id: string): Promise<Job | null> {
    this.#begin();
    const job = this.#data.open.get(id)?.job ?? this.#data.ended.get(id);
    return job === undefined ? null : copyOf(job);
  }

  async tasks(jobIds: readonly string[]): Promise<Task[]> {
    this.#begin();
    return taskRecords(this.#data, jobIds).map(({ task }) => copyOf(task));
  }

  async jobs(query: JobQuery): Promise<Job[]> {
    this.#begin();
    return jobsMatching(this.#data, query);
  }

  async inbox(jobId: string): Promise<InboxItem[]> {
    const at = this.#begin();
    const owner = this.#data.open.get(jobId);
    return owner === undefined ? [] : unexpired(owner, at).map(({ item }) => copyOf(item));
  }

  async seen(jobId: string, ids: readonly string[]): Promise<string[]> {
    this.#begin();
    const seen = this.#data.open.get(jobId)?.seen ?? this.#data.seenByEnded.get(jobId);
    return ids.filter((id) => seen?.has(id));
  }

  async addressed(client: string, key: string): Promise<string[]> {
    this.#begin();
    return addressed(this.#data, client, key).map(({ job }) => job.id);
  }

  async memos(jobId: string): Promise<Readonly<Record<string, JsonValue>>> {
    this.#begin();
    return copyOf(Object.fromEntries(this.#data.open.get(jobId)?.memos ?? []));
  }

  async saveMemo({ jobId, token, name, value }: Memo): Promise<boolean> {
    this.#begin();
    const owner = this.#data.open.get(jobId);
    if (owner?.job.lease?.token !== token) return false;
    owner.memos.set(name, copyOf(value));
    return true;
  }

  async history(jobId: string, after: number, limit: number): Promise<StoredEntry[]> {
    this.#begin();
    const book = this.#data.books.get(jobId) ?? [];
    const from = Math.max(0, after + 1 - (book[0]?.seq ?? 0));
    return copyOf(book.slice(from, from + limit));
  }

  async events(after: number, limit: number): Promise<EventPage> {
    this.#begin();
    return eventsAfter(this.#data, after, limit);
  }

  async latestPosition(): Promise<number> {
    this.#begin();
    return this.#data.feed.length;
  }

  async booksToMove(endedForMs: number, limit: number): Promise<BookPage> {
    return booksToMove(this.#data, this.#begin() - endedForMs, limit);
  }

  async booksMoved(books: MovedBooks): Promise<void> {
    this.#begin();
    booksMoved(this.#data, books);
  }

  async archived(jobId?: string): Promise<ArchiveMark> {
    this.#begin();
    return archiveMark(this.#data, jobId);
  }

  async forgottenInArchive(limit: number): Promise<string[]> {
    this.#begin();
    return forgottenInArchive(this.#data, limit);
  }

  async archiveForgot(jobIds: readonly string[]): Promise<void> {
    this.#begin();
    archiveForgot(this.#data, jobIds);
  }

  async due(limit: number): Promise<DuePage> {
    return duePage(this.#data, this.#begin(), limit);
  }

  async runnable(offered: readonly BlueprintId[], limit: number): Promise<string[]> {
    this.#begin();
    return runnableJobs(this.#data, offered, limit);
  }

  async renewLeases(leases: readonly LeaseRenewal[]): Promise<string[]> {
    const at = this.#begin();
    const lost: string[] = [];
    for (const { jobId, token, forMs } of leases) {
      const owner = this.#data.open.get(jobId);
      if (owner?.job.lease?.token === token) owner.leaseEndsAt = at + forMs;
      else lost.push(token);
    }
    return lost;
  }

  async queuedClasses(): Promise<TaskClass[]> {
    this.#begin();
    return classesQueued(this.#data);
  }

  async heldBy(worker: string): Promise<Task[]> {
    this.#begin();
    return tasksHeldBy(this.#data, worker);
  }

  async loads(): Promise<ReadonlyMap<string, number>> {
    this.#begin();
    return loadsOf(this.#data);
  }

  async saveWorker(worker: WorkerRecord, silentAfterMs: number): Promise<void> {
    const at = this.#begin();
    this.#data.workers.set(worker.id, {
      worker: copyOf(worker),
      lastSeenAt: at,
      silentAt: at + silentAfterMs,
    });
    this.#tell({ type: 'worker', id: worker.id });
  }

  async touchWorkers(touches: readonly WorkerTouch[]): Promise<void> {
    const at = this.#begin();
    for (const { id, silentAfterMs, worker, unseen = false } of touches) {
      const known = this.#data.workers.get(id);
      if (known === undefined) continue;
      this.#data.workers.set(id, {
        worker: worker === undefined ? known.worker : copyOf(worker),
        lastSeenAt: unseen ? known.lastSeenAt : at,
        silentAt: at + silentAfterMs,
      });
      if (worker !== undefined) this.#tell({ type: 'worker', id });
    }
  }

  async workers(ids?: readonly string[]): Promise<StoredWorker[]> {
    this.#begin();
    const found = [...this.#data.workers.values()].filter(
      ({ worker }) => ids === undefined || ids.includes(worker.id),
    );
    return copyOf(found.sort((a, b) => (a.worker.id < b.worker.id ? -1 : 1)));
  }

  async removeWorker(id: string, incarnation: string): Promise<void> {
    this.#begin();
    if (this.#data.workers.get(id)?.worker.incarnation !== incarnation) return;
    this.#data.workers.delete(id);
    this.#tell({ type: 'worker', id });
  }

  async offerBlueprint({ name, version, graph }: BlueprintOffer): Promise<string> {
    const at = this.#begin();
    const first = this.#data.offers.get(offerKey(name, version))?.graph ?? graph;
    this.#data.offers.set(offerKey(name, version), { graph: first, at });
    return first;
  }

  async orphans(
    offered: readonly BlueprintId[],
    olderThanMs: number,
    limit: number,
  ): Promise<string[]> {
    return orphanedJobs(this.#data, offered, this.#begin() - olderThanMs, limit);
  }

  async outbox(limit: number, holdMs: number): Promise<OutboxPage> {
    const at = this.#begin();
    const hold = this.capabilities.shared ? { by: this, until: at + holdMs } : null;
    return outboxPage(this.#data, limit, at, hold);
  }

  async settleOutbox(verdicts: readonly OutboxVerdict[]): Promise<void> {
    settle(this.#data, verdicts, this.#begin());
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetter[]> {
    this.#begin();
    return deadLettersOf(this.#data, query);
  }

  async redriveLetters(ids: readonly string[]): Promise<string[]> {
    return redrive(this.#data, ids, this.#begin());
  }

  async resolveLetters(ids: readonly string[], by: string, notes: string): Promise<string[]> {
    return resolve(this.#data, ids, { by, notes }, this.#begin());
  }

  async forgetLetters(olderThanMs: number, limit: number): Promise<number> {
    return forgetResolved(this.#data, this.#begin() - olderThanMs, limit);
  }

  async schedules(names?: readonly string[]): Promise<StoredSchedule[]> {
    this.#begin();
    return schedulesOf(this.#data, names);
  }

  async keepSchedule(name: string, change: ScheduleChange): Promise<ScheduleOutcome> {
    return keepSchedule(this.#data, name, change, this.#begin());
  }

  async stuck(query: StuckQuery): Promise<StuckAttempt[]> {
    return stuckAttempts(this.#data, query, this.#begin());
  }

  async counts(): Promise<Counts> {
    this.#begin();
    return countAll(this.#data);
  }

  async causes(of: CausesQuery): Promise<JobCauses[]> {
    this.#begin();
    const hot = [...this.#data.open.values()].filter(({ job }) =>
      'id' in of ? job.id === of.id : job.id > of.after,
    );
    hot.sort((a, b) => (a.job.id < b.job.id ? -1 : 1));
    const found = hot.slice(0, 'id' in of ? 1 : of.limit);
    const causes = found.map((owner) => causesOf(this.#data, owner));
    return 'id' in of ? causes : causes.map(withoutPayloads);
  }

  async forgetEnded(what: Forget): Promise<Forgotten> {
    return forgetEnded(this.#data, what, this.#begin());
  }

  async takeOver(graceMs: number): Promise<void> {
    const at = this.#begin();
    for (const owner of this.capabilities.shared ? [] : this.#data.open.values()) {
      if (owner.leaseEndsAt !== null) owner.leaseEndsAt = Math.min(owner.leaseEndsAt, at);
    }
    for (const [id, known] of this.#data.workers) {
      if (known.silentAt <= at) this.#data.workers.set(id, { ...known, silentAt: at + graceMs });
    }
  }

  subscribe(listener: (news: News) => void): () => void {
    const own = this.#data.listeners.get(this) ?? new Set();
    this.#data.listeners.set(this, own.add(listener));
    return () => own.delete(listener);
  }

  /** The others hear of it, soon: never within this store's own verb. */
  #tell(news: News): void {
    for (const [store, listeners] of this.#data.listeners) {
      if (store === this) continue;
      for (const listener of listeners) queueMicrotask(() => listener(news));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#data.listeners.delete(this);
  }
}
