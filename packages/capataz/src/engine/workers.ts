import type { Task } from '../core/job.ts';
import type { Report, ReturnCause } from '../core/signal.ts';
import { silenceMs, type WorkerRecord } from '../core/worker.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { ResultTransition } from '../protocol/worker-api.ts';
import { type Clock, delay } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import type { Store } from '../store/contract.ts';
import { type HeldAttempts, mayHaveBegun } from './attempts.ts';
import type { Committer } from './committer.ts';
import type { Address, Applied, Decider } from './decider.ts';
import type { Lobby, Ticket } from './lobby.ts';
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
}

/** Prefetch of a batching worker: this many times its slots may be held (S-40). */
const prefetchFactor = 4;

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

  /** No further tasks go out; open polls end with nothing. */
  stop(): void {
    this.#stopping = true;
    for (const poll of this.#polls) poll.close();
  }

  async register(worker: Parameters<WorkersPort['register']>[0]): Promise<WorkerRecord> {
    const { store, clock, random, lobby, log } = this.#parts;
    const former = this.#present.get(worker.id);
    const incarnation = random.id();
    const record: WorkerRecord = {
      ...worker,
      incarnation,
      status: 'READY',
      registeredAt: clock.now(),
    };
    await store.saveWorker(record, silenceMs(record));
    this.#present.set(record.id, new Presence(record, clock, silenceMs(record)));
    lobby.workerChanged(record.id);
    this.#closePolls(record.id);
    if (former !== undefined && record.bootId !== null && former.record.bootId !== record.bootId) {
      log.info('worker came back as a new process', { worker: record.id });
      await this.#lose(record.id, former.record);
    }
    return record;
  }

  async heartbeat(worker: string, beat: Heartbeat): Promise<readonly string[]> {
    const presence = this.#need(worker);
    const { store, lobby, held } = this.#parts;
    presence.seen();
    const changed = presence.update(beat);
    if (changed) lobby.workerChanged(worker);
    await store.touchWorkers([
      {
        id: worker,
        silentAfterMs: silenceMs(presence.record),
        ...(changed ? { worker: presence.record } : {}),
      },
    ]);
    if (!presence.accepts) this.#closePolls(worker);
    const gone =
      beat.currentTasks === undefined
        ? []
        : await this.#compare(presence, beat.currentTasks, beat.prefetched ?? []);
    return [
      ...held.cancelledAmong(
        worker,
        beat.currentTasks && [...beat.currentTasks, ...(beat.prefetched ?? [])],
      ),
      ...gone,
    ];
  }

  /** What the worker says it holds against what is known. @returns attempts that are not its own. */
  async #compare(
    presence: Presence,
    current: readonly string[],
    prefetched: readonly string[],
  ): Promise<string[]> {
    const { held, store, clock, committer } = this.#parts;
    const worker = presence.record.id;
    const named = [...current, ...prefetched];
    if (named.some((attempt) => held.get(attempt) === undefined)) {
      for (const task of await store.heldBy(worker)) {
        if (held.get(task.attempt?.id ?? '') === undefined) held.add(task, clock.steady());
      }
    }
    const { begun, lost } = presence.judge(held.of(worker), new Set(current), new Set(prefetched));
    if (begun.length > 0) {
      await committer.commit({ starts: begun.map(({ task }) => startMark(task)) });
      for (const entry of begun) entry.task = { ...entry.task, status: 'RUNNING' };
    }
    if (lost.length > 0) {
      await this.#return(lost.map(({ task }) => ({ task, cause: 'lost' })));
    }
    return named.filter((attempt) => held.get(attempt) === undefined);
  }

  async poll(worker: string, options: PollOptions): Promise<readonly Task[]> {
    const presence = this.#need(worker);
    const { clock } = this.#parts;
    presence.seen();
    const max = Math.min(options.max, this.#room(presence));
    if (this.#stopping) return [];
    if (max <= 0) {
      await delay(clock, options.timeoutMs, options.signal);
      return [];
    }
    const poll = new Poll(presence.record, { ...options, max }, this.#parts);
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
    const starts = tasks.map(startMark);
    this.#parts.committer
      .commit({ starts })
      .catch((error: unknown) => this.#warn('start not noted', error));
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
    const own = this.#ownTicket(presence, want, reports.length);
    const addresses = reports.map((report) => reportAddress(worker, report));
    const applied = await this.#parts.decider.all(addresses, own);
    const answers = applied.map((answer, index) => reportAnswer(answer, reports[index]));
    return { answers, tasks: own?.got ?? [] };
  }

  #ownTicket(presence: Presence | undefined, want: number, reported: number): OwnTicket | null {
    if (presence === undefined || this.#stopping) return null;
    const max = Math.min(want, this.#room(presence, reported));
    if (max <= 0) return null;
    return new OwnTicket(presence.record, max, this.#parts.clock.steady());
  }

  /** How many more tasks the worker may be given. */
  #room({ record, accepts }: Presence, reported = 0): number {
    if (!accepts) return 0;
    if (record.slots === null) return 1;
    const most = record.batch ? record.slots * prefetchFactor : record.slots;
    return most - this.#parts.held.load(record.id) + reported;
  }

  async progress(worker: string, jobId: string, progress: Progress): Promise<void> {
    const entry = this.#parts.held.get(progress.attempt);
    if (entry?.task.attempt?.worker !== worker || entry.task.jobId !== jobId) return;
    this.#present.get(worker)?.seen();
    if (!entry.started) {
      entry.started = true;
      await this.#parts.committer.commit({ starts: [startMark(entry.task)] });
    }
    this.#parts.onProgress(jobId, progress);
  }

  connectionDropped(worker: string): void {
    const presence = this.#present.get(worker);
    if (presence === undefined) return;
    const silentAfterMs = presence.dropped();
    this.#parts.store
      .touchWorkers([{ id: worker, silentAfterMs }])
      .catch((error: unknown) => this.#warn('dropped connection not noted', error));
  }

  async drain(worker: string): Promise<void> {
    const presence = this.#need(worker);
    presence.update({ status: 'draining' });
    this.#closePolls(worker);
    await this.#parts.store.touchWorkers([
      { id: worker, silentAfterMs: silenceMs(presence.record), worker: presence.record },
    ]);
  }

  async list(): Promise<readonly WorkerState[]> {
    const { store, held } = this.#parts;
    const workers = await store.workers();
    return workers.map((stored) => {
      const load = held.load(stored.worker.id);
      const worker = this.#present.get(stored.worker.id)?.shown(load) ?? stored.worker;
      return { ...stored, worker, load };
    });
  }

  /** A worker's end of silence is due: it is lost, unless this instance has heard from it since. */
  async onSilence(worker: string): Promise<void> {
    const { store, lobby, held, log } = this.#parts;
    const presence = this.#present.get(worker);
    const leftMs = presence?.silentInMs() ?? 0;
    if (leftMs > 0) return store.touchWorkers([{ id: worker, silentAfterMs: leftMs }]);
    log.warn('worker is silent; what it holds goes to others', { worker });
    await this.#lose(worker, presence?.record ?? null);
    await store.removeWorker(worker);
    this.#present.delete(worker);
    lobby.workerChanged(worker);
    held.forgetWorker(worker);
    this.#closePolls(worker);
  }

  async #lose(worker: string, record: WorkerRecord | null): Promise<void> {
    const tasks = await this.#parts.store.heldBy(worker);
    await this.#return(
      tasks.map((task, index) => ({
        task,
        cause: mayHaveBegun(tasks, index, record) ? 'lost' : 'not_started',
      })),
    );
  }

  async #return(
    items: readonly { readonly task: Task; readonly cause: ReturnCause }[],
  ): Promise<void> {
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
  readonly waitingSince: number;

  constructor(worker: WorkerRecord, max: number, waitingSince: number) {
    this.worker = worker;
    this.max = max;
    this.waitingSince = waitingSince;
  }

  deliver(tasks: readonly Task[]): void {
    this.got = tasks;
  }
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
      const cause = report.handedBack === 'started' ? 'handed_back' : 'not_started';
      return { type: 'returned', task, attempt, cause };
    },
    onRefusal: (reason) => [{ type: 'report_refused', attempt, worker, reason }],
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
