import type { Task } from '../core/job.ts';
import type { Report, ReturnCause } from '../core/signal.ts';
import { silenceMs, type WorkerRecord } from '../core/worker.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { ResultTransition } from '../protocol/worker-api.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import type { Store } from '../store/contract.ts';
import { type HeldAttempts, type HeldTask, mayHaveBegun } from './attempts.ts';
import type { Committed, Committer } from './committer.ts';
import type { Address, Applied, Decider } from './decider.ts';
import type { Lobby, Ticket } from './lobby.ts';
import type { EngineObserver } from './observer.ts';
import { Poll } from './poll.ts';
import type {
  Heartbeat,
  PollOptions,
  Progress,
  ReportAnswer,
  ReportOutcome,
  TaskReport,
  WorkerState,
  WorkersPort,
} from './ports.ts';
import { Presence } from './presence.ts';

export interface WorkersParts {
  readonly store: Store;
  readonly decider: Decider;
  readonly committer: Committer;
  readonly lobby: Lobby;
  readonly held: HeldAttempts;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told of live progress, which is not stored. */
  readonly onProgress: (jobId: string, progress: Progress) => void;
  /** Told of each end of silence that is nearer than before, in ms from now. */
  readonly onSilenceSet: (afterMs: number) => void;
  readonly observer?: Pick<EngineObserver, 'onWorkerCame' | 'onWorkerStatus' | 'onWorkerWent'>;
}

/** Prefetch of a batching worker: this many times its slots may be held (S-40). */
const prefetchFactor = 4;
/** Of the text that a refused report gives for its attempt, the book keeps so much. */
const longestNoted = 100;

/** The workers as this instance knows them, and everything that they ask for. */
export class Workers implements WorkersPort {
  readonly #parts: WorkersParts;
  readonly #present = new Map<string, Presence>();
  readonly #polls = new Set<Poll>();
  #stopping = false;

  constructor(parts: WorkersParts) {
    this.#parts = parts;
  }

  /** Takes over what an earlier process knew: who is there, and who holds what. */
  async start(): Promise<void> {
    const { store, clock, held } = this.#parts;
    const now = await store.now();
    for (const { worker, silentAt } of await store.workers()) {
      this.#present.set(worker.id, new Presence(worker, clock, silentAt - now));
      for (const task of await store.heldBy(worker.id)) held.add(task, clock.steady());
    }
  }

  /** Whether the attempt can have begun; where nobody knows who holds it, it can. */
  mayHaveBegun(attempt: string): boolean {
    const { held } = this.#parts;
    const worker = held.get(attempt)?.task.attempt?.worker;
    if (worker === undefined) return true;
    const tasks = held.of(worker).map(({ task }) => task);
    const index = tasks.findIndex((task) => task.attempt?.id === attempt);
    return mayHaveBegun(tasks, index, this.#present.get(worker)?.record ?? null);
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
    for (const presence of this.#present.values()) presence.forgive();
  }

  async register(worker: Parameters<WorkersPort['register']>[0]): Promise<WorkerRecord> {
    const { clock, random, lobby, log } = this.#parts;
    const former = this.#present.get(worker.id);
    const record: WorkerRecord = {
      ...worker,
      incarnation: random.id(),
      status: 'READY',
      registeredAt: clock.now(),
    };
    this.#closePolls(record.id);
    // Before the new boot id is stored: a failure in between must not make it look like the old one.
    if (former !== undefined && record.bootId !== null && former.record.bootId !== record.bootId) {
      log.info('worker came back as a new process', { worker: record.id });
      await this.#lose(record.id, former.record);
    }
    const presence = new Presence(record, clock, silenceMs(record));
    this.#present.set(record.id, presence);
    lobby.workerChanged(record.id);
    await this.#save(presence);
    if (former === undefined) this.#parts.observer?.onWorkerCame(record.id);
    this.#tellStatus(record.id);
    return record;
  }

  /** What a commit gave to workers or took from them may have made them busy, or ready again. */
  onCommitted({ done, assigned }: Committed): void {
    const touched = new Set(assigned.map(({ attempt }) => attempt?.worker));
    for (const { request, outcome } of done) {
      for (const { worker } of request.change.history) touched.add(worker);
      for (const { worker } of outcome.cancelled) touched.add(worker);
    }
    for (const worker of touched) if (worker !== undefined) this.#tellStatus(worker);
  }

  #tellStatus(worker: string): void {
    const { observer, held } = this.#parts;
    const presence = this.#present.get(worker);
    if (observer === undefined || presence === undefined) return;
    observer.onWorkerStatus(worker, presence.shown(held.load(worker)).status);
  }

  async #save(presence: Presence): Promise<void> {
    const { store, onSilenceSet } = this.#parts;
    const { record } = presence;
    try {
      await store.saveWorker(record, silenceMs(record));
    } catch (error) {
      // It has to register again.
      if (this.#present.get(record.id) === presence) this.#present.delete(record.id);
      throw error;
    }
    onSilenceSet(silenceMs(record));
  }

  async heartbeat(worker: string, beat: Heartbeat): Promise<readonly string[]> {
    const presence = this.#need(worker);
    const { store, lobby, held, committer } = this.#parts;
    presence.seen();
    const changed = presence.update(beat);
    if (changed) {
      lobby.workerChanged(worker);
      this.#tellStatus(worker);
    }
    await store.touchWorkers([
      {
        id: worker,
        silentAfterMs: silenceMs(presence.record),
        ...(changed ? { worker: presence.record } : {}),
      },
    ]);
    if (presence.accepts) committer.serve(worker);
    else this.#closePolls(worker);
    const gone =
      beat.currentTasks === undefined
        ? []
        : await this.#compare(presence, beat.currentTasks, beat.prefetched ?? []);
    const claimed = beat.currentTasks && [...beat.currentTasks, ...(beat.prefetched ?? [])];
    if (beat.status === 'offline') await this.#signOff(presence);
    return [...new Set([...held.cancelledAmong(worker, claimed), ...gone])];
  }

  /** Who says good-bye and holds nothing is gone; what others hold stays current until silence. */
  async #signOff(presence: Presence): Promise<void> {
    const { id } = presence.record;
    const holds = await this.#parts.store.heldBy(id);
    if (holds.length > 0 || this.#present.get(id) !== presence) return;
    this.#parts.log.info('a worker signed off', { worker: id });
    await this.#forget(id);
  }

  /** What the worker says it holds against what is known. @returns attempts that are not its own. */
  async #compare(
    presence: Presence,
    current: readonly string[],
    prefetched: readonly string[],
  ): Promise<string[]> {
    const { held, store, clock } = this.#parts;
    const { record } = presence;
    const isForeign = (attempt: string): boolean => !held.isHeldBy(attempt, record.id);
    const named = [...current, ...prefetched];
    if (named.some(isForeign)) {
      for (const task of await store.heldBy(record.id)) {
        if (isForeign(task.attempt?.id ?? '')) held.add(task, clock.steady());
      }
    }
    const all = held.of(record.id);
    const { begun, lost } = presence.judge(all, new Set(current), new Set(prefetched));
    await this.#begin(begun);
    const tasks = all.map(({ task }) => task);
    await this.#return(
      lost.map((entry) => ({ task: entry.task, cause: lossOf(tasks, all.indexOf(entry), record) })),
    );
    return named.filter(isForeign);
  }

  /** Writes the first sign of work, once an attempt (S-26). */
  async #begin(entries: readonly HeldTask[]): Promise<void> {
    const first = entries.filter(({ task }) => task.status !== 'RUNNING');
    if (first.length === 0) return;
    await this.#parts.committer.commit({ starts: first.map(({ task }) => startMark(task)) });
    for (const entry of first) entry.task = { ...entry.task, status: 'RUNNING' };
  }

  async poll(worker: string, options: PollOptions): Promise<readonly Task[]> {
    const presence = this.#need(worker);
    presence.seen();
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

  delivered(worker: string, tasks: readonly Task[]): void {
    // Who never says what it works on gives no better sign of work than having got the task (S-17).
    if (this.#present.get(worker)?.saysWhatItHolds !== false) return;
    const { held } = this.#parts;
    const entries = tasks.flatMap((task) => held.get(task.attempt?.id ?? '') ?? []);
    this.#begin(entries).catch((error: unknown) => this.#warn('start not noted', error));
  }

  async undelivered(worker: string, tasks: readonly Task[]): Promise<void> {
    this.#parts.log.info('reply was cut before it was sent; tasks go back', {
      worker,
      tasks: tasks.length,
    });
    await this.#return(tasks.map((task) => ({ task, cause: 'not_delivered' })));
  }

  async report(
    worker: string,
    reports: readonly TaskReport[],
    want: number,
  ): Promise<ReportOutcome> {
    const presence = this.#present.get(worker);
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
    const { clock, held } = this.#parts;
    const { id, slots } = presence.record;
    // Only what it really holds makes room by ending.
    const ending = reports.filter(({ attempt }) => held.isHeldBy(attempt, id)).length;
    const max = slots === null ? 1 : want;
    const room = this.#room(presence) + ending;
    return new OwnTicket(presence.record, { max, room, waitingSince: clock.steady() });
  }

  /** How many more tasks the worker may be given. */
  #room({ record, accepts }: Presence): number {
    if (!accepts || this.#stopping) return Number.NEGATIVE_INFINITY;
    if (record.slots === null) return Number.POSITIVE_INFINITY;
    const most = record.batch ? record.slots * prefetchFactor : record.slots;
    return most - this.#parts.held.load(record.id);
  }

  async progress(worker: string, jobId: string, progress: Progress): Promise<void> {
    const entry = this.#parts.held.get(progress.attempt);
    if (entry?.task.attempt?.worker !== worker || entry.task.jobId !== jobId) return;
    this.#present.get(worker)?.seen();
    await this.#begin([entry]);
    this.#parts.onProgress(jobId, progress);
  }

  connectionDropped(worker: string): void {
    const presence = this.#present.get(worker);
    if (presence === undefined) return;
    const silentAfterMs = presence.dropped();
    this.#parts.store
      .touchWorkers([{ id: worker, silentAfterMs, unseen: true }])
      .then(() => this.#parts.onSilenceSet(silentAfterMs))
      .catch((error: unknown) => this.#warn('dropped connection not noted', error));
  }

  async drain(worker: string): Promise<void> {
    const presence = this.#need(worker);
    presence.update({ status: 'draining' });
    this.#tellStatus(worker);
    this.#closePolls(worker);
    const silentAfterMs = Math.max(0, presence.silentInMs());
    await this.#parts.store.touchWorkers([
      { id: worker, silentAfterMs, unseen: true, worker: presence.record },
    ]);
  }

  async list(): Promise<readonly WorkerState[]> {
    const { store, held } = this.#parts;
    const workers = await store.workers();
    return workers.map((stored) => {
      const load = held.load(stored.worker.id);
      const presence = this.#present.get(stored.worker.id);
      const worker = presence?.shown(load) ?? stored.worker;
      return { ...stored, worker, load, closedBy: presence?.closedBy ?? null };
    });
  }

  async holds(worker: string, jobId: string, attempt?: string): Promise<boolean> {
    const tasks = await this.#parts.store.heldBy(worker);
    return tasks.some(
      (task) => task.jobId === jobId && (attempt === undefined || task.attempt?.id === attempt),
    );
  }

  /** A worker's end of silence is due: it is lost, unless this instance has heard from it since. */
  async onSilence(worker: string): Promise<void> {
    const { store, log } = this.#parts;
    const presence = this.#present.get(worker);
    const leftMs = presence?.silentInMs() ?? 0;
    if (leftMs > 0) return store.touchWorkers([{ id: worker, silentAfterMs: leftMs }]);
    log.warn('worker is silent; what it holds goes to others', { worker });
    await this.#lose(worker, presence?.record ?? null);
    // It may have registered again meanwhile.
    if (this.#present.get(worker) === presence) await this.#forget(worker);
  }

  async #forget(worker: string): Promise<void> {
    const { store, lobby, held } = this.#parts;
    if (this.#present.delete(worker)) this.#parts.observer?.onWorkerWent(worker);
    lobby.workerChanged(worker);
    held.forgetWorker(worker);
    this.#closePolls(worker);
    await store.removeWorker(worker);
  }

  async #lose(worker: string, record: WorkerRecord | null): Promise<void> {
    const tasks = await this.#parts.store.heldBy(worker);
    await this.#return(
      tasks.map((task, index) => ({
        task,
        cause: lossOf(tasks, index, record),
      })),
    );
  }

  async #return(
    items: readonly { readonly task: Task; readonly cause: ReturnCause }[],
  ): Promise<void> {
    if (items.length === 0) return;
    await this.#parts.decider.all(items.map(({ task, cause }) => returnAddress(task, cause)));
  }

  #need(worker: string): Presence {
    const presence = this.#present.get(worker);
    if (presence === undefined) throw new CapatazError('WORKER_NOT_FOUND', 'Worker not found');
    return presence;
  }

  #closePolls(worker: string): void {
    for (const poll of this.#polls) if (poll.worker.id === worker) poll.close();
  }

  #warn(message: string, error: unknown): void {
    this.#parts.log.warn(message, { error: String(error) });
  }
}

/** The wish for more work that came with a report. */
class OwnTicket implements Ticket {
  missed = false;
  got: readonly Task[] = [];
  readonly worker: WorkerRecord;
  readonly max: number;
  readonly room: () => number;
  readonly waitingSince: number;

  constructor(
    worker: WorkerRecord,
    wish: { readonly max: number; readonly room: number; readonly waitingSince: number },
  ) {
    this.worker = worker;
    this.max = wish.max;
    this.room = () => wish.room;
    this.waitingSince = wish.waitingSince;
  }

  deliver(tasks: readonly Task[]): void {
    this.got = tasks;
  }
}

function lossOf(held: readonly Task[], index: number, worker: WorkerRecord | null): ReturnCause {
  return mayHaveBegun(held, index, worker) ? 'lost' : 'not_started';
}

function startMark(task: Task): { jobId: string; taskId: string; attempt: string } {
  return { jobId: task.jobId, taskId: task.id, attempt: task.attempt?.id ?? '' };
}

function returnAddress(task: Task, cause: ReturnCause): Address {
  const attempt = task.attempt?.id ?? '';
  return {
    jobId: task.jobId,
    about: { attempt },
    signal: (current) => ({ type: 'returned', task: current, attempt, cause }),
  };
}

function reportAddress(worker: string, { jobId, attempt, report }: TaskReport): Address {
  return {
    jobId,
    about: { attempt },
    signal: (task) => {
      if (!('handedBack' in report)) return { type: 'reported', task, attempt, worker, report };
      // Only its holder may hand an attempt back; as a report it is refused with the right reason.
      if (task?.attempt?.worker !== worker)
        return { type: 'reported', task, attempt, worker, report: {} };
      const cause = report.handedBack === 'started' ? 'handed_back' : 'not_started';
      return { type: 'returned', task, attempt, cause };
    },
    onRefusal: (reason) => [
      { type: 'report_refused', attempt: attempt.slice(0, longestNoted), worker, reason },
    ],
  };
}

function reportAnswer(applied: Applied, report: TaskReport | undefined): ReportAnswer {
  if (applied.type === 'refused') return { type: 'ignored', reason: applied.reason };
  if (applied.type === 'not_held') {
    throw new CapatazError(
      'NOT_READY',
      `this instance does not hold blueprint "${applied.job.blueprint}"`,
    );
  }
  const { wait } = applied.before;
  const mapped = wait?.type === 'task' ? wait.on : {};
  return { type: 'accepted', transition: transitionWord(report?.report, mapped) };
}

function transitionWord(
  report: TaskReport['report'] | undefined,
  on: Readonly<Record<string, string>>,
): ResultTransition {
  if (report === undefined || 'handedBack' in report || report.error !== undefined)
    return 'failure_handled';
  const status = (report as Report).status ?? 'success';
  if (Object.hasOwn(on, status)) return 'success_transition';
  return status === 'cancelled' ? 'cancelled_handled' : 'unhandled_status_failure';
}
