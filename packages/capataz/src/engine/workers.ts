import type { Task } from '../core/job.ts';
import type { WorkerStatus } from '../core/status.ts';
import { silenceMs, type WorkerRecord } from '../core/worker.ts';
import {
  cancelDrain,
  drain,
  isOperationalWorker,
  markLost,
  signOff,
} from '../core/worker-machine.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import type { Store } from '../store/contract.ts';
import type { HeldAttempts } from './attempts.ts';
import type { Circuits } from './circuits.ts';
import type { Committed, Committer } from './committer.ts';
import type { Decider } from './decider.ts';
import { Hearsay } from './hearsay.ts';
import { Holdings } from './holdings.ts';
import type { Lobby } from './lobby.ts';
import type { EngineObserver } from './observer.ts';
import { Poll } from './poll.ts';
import type {
  Heartbeat,
  PollOptions,
  Progress,
  ReportOutcome,
  TaskReport,
  WorkerState,
  WorkersPort,
} from './ports.ts';
import type { Presence, WorkerOperation } from './presence.ts';
import { OwnTicket, reportAddress, reportAnswer } from './reports.ts';
import { Roll } from './roll.ts';

export interface WorkersParts {
  readonly store: Store;
  readonly decider: Decider;
  readonly committer: Committer;
  readonly lobby: Lobby;
  readonly held: HeldAttempts;
  readonly circuits: Circuits;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told of live progress, which is not stored. */
  readonly onProgress: (jobId: string, progress: Progress) => void;
  /** Told of each end of silence that is nearer than before, in ms from now. */
  readonly onSilenceSet: (afterMs: number) => void;
  readonly observer?: Pick<EngineObserver, 'onWorkerCame' | 'onWorkerStatus'>;
}

/** Prefetch of a batching worker: this many times its slots may be held (S-40). */
const prefetchFactor = 4;

/** The workers as this instance knows them, and everything that they ask for. */
export class Workers implements WorkersPort {
  readonly #parts: WorkersParts;
  readonly #roll: Roll;
  readonly #holdings: Holdings;
  readonly #hearsay: Hearsay;
  readonly #polls = new Set<Poll>();
  #stopping = false;

  constructor(parts: WorkersParts) {
    this.#parts = parts;
    this.#roll = new Roll(parts);
    this.#holdings = new Holdings(parts);
    this.#hearsay = new Hearsay({
      store: parts.store,
      roll: this.#roll,
      onChanged: (presence) => this.#onChanged(presence),
      onReplaced: (worker, former, now) => this.#onReplaced(worker, former, now),
    });
  }

  /** Takes over what an earlier process knew: who is there, and who holds what. */
  async start(): Promise<void> {
    const { store } = this.#parts;
    const now = await store.now();
    for (const { worker, silentAt } of await store.workers()) {
      this.#roll.restore(worker, silentAt - now);
      await this.#holdings.read(worker.id);
      this.#roll.follow(worker.id);
    }
  }

  /** Other instances may know more of these workers, or of all. */
  refresh(ids: readonly string[] | null): Promise<void> {
    return this.#hearsay.refresh(ids ?? undefined);
  }

  /**
   * Other instances have committed, maybe the ends of tasks that were handed out here. Who asks for tasks
   * and is kept short by what is known here is looked at again: its reports may never come this way.
   */
  async recount(): Promise<void> {
    const short = new Set<string>();
    for (const { worker } of this.#polls) if (this.#isKeptShort(worker.id)) short.add(worker.id);
    for (const worker of short) {
      await this.#holdings.recount(worker);
      this.#parts.committer.serve(worker);
    }
  }

  /** Workers that take tasks, and that other instances hear from. */
  *elsewhere(): Iterable<WorkerRecord> {
    for (const { accepts, isElsewhere, record } of this.#roll.all())
      if (accepts && isElsewhere) yield record;
  }

  isPresent(worker: string): boolean {
    return this.#roll.get(worker) !== undefined;
  }

  /** Whether the attempt can have begun; where nobody knows who holds it, it can. */
  mayHaveBegun(attempt: string): boolean {
    const recordOf = (worker: string): WorkerRecord | null =>
      this.#roll.get(worker)?.record ?? null;
    return this.#holdings.mayHaveBegun(attempt, recordOf);
  }

  /** No further tasks go out; open polls end with nothing. */
  stop(): void {
    this.#stopping = true;
    for (const poll of this.#polls) poll.close();
  }

  /**
   * This process was frozen, or its loop blocked: it heard nobody meanwhile, and what the workers
   * said lies unread in the sockets. Each gets one heartbeat's chance before it counts as silent.
   */
  onLate(): void {
    for (const presence of this.#roll.all()) presence.forgive();
  }

  async register(worker: Parameters<WorkersPort['register']>[0]): Promise<WorkerRecord> {
    const { clock, random, lobby, log } = this.#parts;
    const { id, bootId } = worker;
    if (this.#isShared) await this.refresh([id]);
    const former = this.#roll.get(id);
    const isSuccessor = bootId !== null && former !== undefined && former.record.bootId !== bootId;
    this.#closePolls(id);
    // Before the new boot id is stored: a failure in between must not make it look like the old one.
    if (isSuccessor) {
      log.info('worker came back as a new process', { worker: id });
      await this.#holdings.lose(id, former.record);
      if (this.#roll.isCurrent(former)) this.#roll.leave(former, markLost);
    }
    const incarnation = random.id();
    const arrival = this.#roll.enter({ ...worker, incarnation, registeredAt: clock.now() });
    lobby.workerChanged(id);
    await this.#save(arrival.presence);
    this.#roll.welcome(arrival, { isNew: former === undefined || isSuccessor });
    return arrival.presence.record;
  }

  /** What a commit gave to workers or took from them may have made them busy, or ready again. */
  onCommitted({ done, assigned }: Committed): void {
    const touched = new Set(assigned.map(({ attempt }) => attempt?.worker));
    for (const { request, outcome } of done) {
      for (const { worker } of request.change.history) touched.add(worker);
      for (const { worker } of outcome.cancelled) touched.add(worker);
    }
    for (const worker of touched) if (worker !== undefined) this.#roll.follow(worker);
  }

  async #save(presence: Presence): Promise<void> {
    const { store, onSilenceSet } = this.#parts;
    const { record } = presence;
    try {
      await store.saveWorker(record, silenceMs(record));
    } catch (error) {
      this.#roll.drop(presence);
      throw error;
    }
    onSilenceSet(silenceMs(record));
  }

  async heartbeat(worker: string, beat: Heartbeat): Promise<readonly string[]> {
    const heard = this.#roll.get(worker) ?? (await this.#find(worker));
    const { lobby, held, committer } = this.#parts;
    heard.seen();
    if (heard.update(beat)) lobby.workerChanged(worker);
    // It says so with every heartbeat, and only the first one is news.
    if (beat.status === 'draining' && isOperationalWorker(heard.record.status))
      this.#roll.take(heard, drain);
    await this.#touch(heard);
    // It may have registered elsewhere meanwhile, or be gone.
    if (this.#isShared) await this.refresh([worker]);
    const presence = this.#roll.need(worker);
    if (!presence.accepts) this.#closePolls(worker);
    const { currentTasks, prefetched = [] } = beat;
    const gone =
      currentTasks === undefined
        ? []
        : await this.#holdings.compare(presence, currentTasks, prefetched);
    if (presence.accepts) committer.serve(worker);
    const claimed = currentTasks && [...currentTasks, ...prefetched];
    if (beat.status === 'offline') await this.#signOff(presence);
    return [...new Set([...held.cancelledAmong(worker, claimed), ...gone])];
  }

  async #touch(presence: Presence): Promise<void> {
    const { record, isUnsaved } = presence;
    const news = isUnsaved ? { worker: record } : {};
    presence.isUnsaved = false;
    try {
      const silentAfterMs = silenceMs(record);
      await this.#parts.store.touchWorkers([{ id: record.id, silentAfterMs, ...news }]);
    } catch (error) {
      presence.isUnsaved ||= isUnsaved;
      throw error;
    }
  }

  /** Who says good-bye and holds nothing is gone; what others hold stays current until silence. */
  async #signOff(presence: Presence): Promise<void> {
    const { store, log, held, circuits } = this.#parts;
    const { id } = presence.record;
    const holds = await store.heldBy(id);
    if (holds.length > 0 || !this.#roll.isCurrent(presence)) return;
    log.info('a worker signed off', { worker: id });
    held.forgetWorker(id);
    circuits.onSignedOff(id);
    await this.#forget(presence.record, signOff);
  }

  async poll(worker: string, options: PollOptions): Promise<readonly Task[]> {
    const presence = this.#roll.get(worker) ?? (await this.#find(worker));
    presence.seen();
    if (this.#isShared && this.#isKeptShort(worker)) await this.#holdings.recount(worker);
    if (this.#stopping) return [];
    // Whoever does not say how many it runs at once has one free slot a poll (S-24).
    const max = presence.record.slots === null ? Math.min(options.max, 1) : options.max;
    const room = (): number => this.#room(presence);
    const poll = new Poll(presence, { ...options, max, room }, this.#parts);
    this.#polls.add(poll);
    const tasks = await poll.tasks;
    this.#polls.delete(poll);
    if (tasks.length > 0 && options.signal?.aborted) {
      await this.undelivered(worker, tasks);
      return [];
    }
    return tasks;
  }

  async isBatch(worker: string): Promise<boolean | null> {
    const presence = this.#roll.get(worker) ?? (await this.#lookUp(worker));
    return presence?.record.batch ?? null;
  }

  delivered(worker: string, tasks: readonly Task[]): void {
    // Who never says what it works on gives no better sign of work than having got the task (S-17).
    if (this.#roll.get(worker)?.saysWhatItHolds !== false) return;
    const { held } = this.#parts;
    const entries = tasks.flatMap((task) => held.get(task.attempt?.id ?? '') ?? []);
    this.#holdings.begin(entries).catch((error: unknown) => this.#warn('start not noted', error));
  }

  async undelivered(worker: string, tasks: readonly Task[]): Promise<void> {
    this.#parts.log.info('reply was cut before it was sent; tasks go back', {
      worker,
      tasks: tasks.length,
    });
    await this.#holdings.giveBack(tasks.map((task) => ({ task, cause: 'not_delivered' })));
  }

  async report(
    worker: string,
    reports: readonly TaskReport[],
    want: number,
  ): Promise<ReportOutcome> {
    const presence = this.#roll.get(worker) ?? (await this.#lookUp(worker));
    presence?.seen();
    const own = this.#ownTicket(presence, reports, want);
    for (const { attempt } of reports) this.#parts.held.onReported(worker, attempt);
    const addresses = reports.map((report) => reportAddress(worker, report));
    try {
      const applied = await this.#parts.decider.all(addresses, own);
      const answers = applied.map((answer, index) => reportAnswer(answer, reports[index]));
      return { answers, tasks: own?.got ?? [] };
    } catch (error) {
      // No answer will carry what the first commit assigned.
      if (own !== null && own.got.length > 0) await this.undelivered(worker, own.got);
      throw error;
    }
  }

  #ownTicket(
    presence: Presence | undefined,
    reports: readonly TaskReport[],
    want: number,
  ): OwnTicket | null {
    if (presence === undefined || this.#stopping || want <= 0) return null;
    const { clock, held, circuits } = this.#parts;
    const { id, slots } = presence.record;
    // Whether the next probe may go out is known when this one's report is: it goes to a poll.
    if (Number.isFinite(circuits.room(id))) return null;
    // Only what it really holds makes room by ending.
    const ending = reports.filter(({ attempt }) => held.isHeldBy(attempt, id)).length;
    const max = slots === null ? 1 : want;
    const room = this.#room(presence) + ending;
    return new OwnTicket(presence.record, { max, room, waitingSince: clock.steady() });
  }

  /** How many more tasks the worker may be given. */
  #room({ record, accepts }: Presence): number {
    if (!accepts || this.#stopping) return Number.NEGATIVE_INFINITY;
    const { circuits, held } = this.#parts;
    const admitted = circuits.room(record.id);
    if (record.slots === null) return admitted;
    const most = record.batch ? record.slots * prefetchFactor : record.slots;
    return Math.min(admitted, most - held.load(record.id));
  }

  /** It has no room by what is known here, or holds a suspect, beside which it gets no other. */
  #isKeptShort(worker: string): boolean {
    const presence = this.#roll.get(worker);
    if (presence?.accepts !== true) return false;
    return this.#room(presence) <= 0 || this.#parts.held.suspects(worker) > 0;
  }

  async progress(worker: string, jobId: string, progress: Progress): Promise<void> {
    const { held } = this.#parts;
    if (this.#isShared && held.get(progress.attempt) === undefined)
      await this.#holdings.read(worker);
    const entry = held.get(progress.attempt);
    if (entry?.task.attempt?.worker !== worker || entry.task.jobId !== jobId) return;
    this.#roll.get(worker)?.seen();
    await this.#holdings.begin([entry]);
    this.#parts.onProgress(jobId, progress);
  }

  connectionDropped(worker: string): void {
    const presence = this.#roll.get(worker);
    if (presence === undefined) return;
    // Where there are others, it may have gone on at one of them.
    const silentAfterMs = presence.dropped(this.#isShared ? 2 : 1);
    this.#parts.store
      .touchWorkers([{ id: worker, silentAfterMs, unseen: true }])
      .then(() => this.#parts.onSilenceSet(silentAfterMs))
      .catch((error: unknown) => this.#warn('dropped connection not noted', error));
  }

  async drain(worker: string): Promise<void> {
    await this.#steer(worker, drain);
    this.#closePolls(worker);
  }

  async cancelDrain(worker: string): Promise<WorkerStatus> {
    const { record } = await this.#steer(worker, cancelDrain);
    this.#parts.committer.serve(worker);
    return record.status;
  }

  /** Stored before it holds: what an operator was told to be done outlives this process. */
  async #steer(worker: string, operation: WorkerOperation): Promise<Presence> {
    const presence = this.#roll.get(worker) ?? (await this.#find(worker));
    const { status } = this.#roll.check(presence, operation).worker;
    const silentAfterMs = Math.max(0, presence.silentInMs());
    const record = { ...presence.record, status };
    await this.#parts.store.touchWorkers([
      { id: worker, silentAfterMs, unseen: true, worker: record },
    ]);
    // It may have registered again meanwhile, or another has done the same: then this one is refused.
    const current = this.#roll.need(worker);
    this.#roll.take(current, operation);
    current.isUnsaved = current.record.status !== status;
    return current;
  }

  async list(): Promise<readonly WorkerState[]> {
    const { store, circuits } = this.#parts;
    const [workers, loads] = await Promise.all([store.workers(), store.loads()]);
    return workers.map((stored) => {
      const { id } = stored.worker;
      this.#roll.follow(id);
      const presence = this.#roll.get(id);
      return {
        ...stored,
        worker: presence?.record ?? stored.worker,
        load: loads.get(id) ?? 0,
        closedBy: presence?.closedBy ?? null,
        circuit: circuits.of(id),
      };
    });
  }

  async holds(worker: string, jobId: string, attempt?: string): Promise<boolean> {
    const tasks = await this.#parts.store.heldBy(worker);
    return tasks.some(
      (task) => task.jobId === jobId && (attempt === undefined || task.attempt?.id === attempt),
    );
  }

  /** A worker's end of silence is due: it is lost, unless somebody has heard from it since. */
  async onSilence(worker: string): Promise<void> {
    const { store, log, circuits } = this.#parts;
    const leftMs = this.#roll.get(worker)?.silentInMs() ?? 0;
    if (leftMs > 0) return store.touchWorkers([{ id: worker, silentAfterMs: leftMs }]);
    if (this.#isShared && (await this.#isHeardElsewhere(worker))) return;
    const presence = this.#roll.get(worker);
    log.warn('worker is silent; what it holds goes to others', { worker });
    await this.#holdings.lose(worker, presence?.record ?? null);
    circuits.onLost(worker);
    // It may have registered again meanwhile.
    if (presence !== undefined && this.#roll.isCurrent(presence))
      await this.#forget(presence.record, markLost);
  }

  /** @returns whether its silence is not over by the store, or another has dealt with it already. */
  async #isHeardElsewhere(worker: string): Promise<boolean> {
    const { store } = this.#parts;
    await this.refresh([worker]);
    const [[stored], now] = await Promise.all([store.workers([worker]), store.now()]);
    return stored === undefined || stored.silentAt > now;
  }

  async #forget({ id, incarnation }: WorkerRecord, operation: WorkerOperation): Promise<void> {
    const presence = this.#roll.get(id);
    if (presence !== undefined) this.#roll.leave(presence, operation);
    this.#parts.held.forgetWorker(id);
    this.#closePolls(id);
    await this.#parts.store.removeWorker(id, incarnation);
  }

  get #isShared(): boolean {
    return this.#parts.store.capabilities.shared;
  }

  /** One that is unknown here. @throws CapatazError WORKER_NOT_FOUND, upon which it registers again. */
  async #find(worker: string): Promise<Presence> {
    await this.#lookUp(worker);
    return this.#roll.need(worker);
  }

  /** One that is unknown here: another instance may know it. */
  async #lookUp(worker: string): Promise<Presence | undefined> {
    if (!this.#isShared) return undefined;
    await this.refresh([worker]);
    if (this.isPresent(worker)) await this.#holdings.read(worker);
    return this.#roll.get(worker);
  }

  /** It offers something else now, or takes no more. */
  #onChanged(presence: Presence): void {
    const { id } = presence.record;
    this.#parts.lobby.workerChanged(id);
    if (presence.accepts) this.#parts.committer.serve(id);
    else this.#closePolls(id);
  }

  /** Its polls here are of a registration that is over. */
  #onReplaced(worker: string, former: WorkerRecord, now: WorkerRecord | null): void {
    if (former.bootId === null || former.bootId !== now?.bootId)
      this.#parts.held.forgetWorker(worker);
    this.#closePolls(worker);
  }

  #closePolls(worker: string): void {
    for (const poll of this.#polls) if (poll.worker.id === worker) poll.close();
  }

  #warn(message: string, error: unknown): void {
    this.#parts.log.warn(message, { error: String(error) });
  }
}
