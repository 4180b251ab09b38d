import type { HeartbeatAnswer, HeartbeatBody, TaskBody } from '../protocol/worker-api.ts';
import { assert } from '../std/assert.ts';
import type { CancelTimer } from '../std/clock.ts';
import { Lane, type Outcome } from './lane.ts';
import { type WorkerOptions, type WorkerSettings, workerSettings } from './options.ts';
import { ProgressSender } from './progress.ts';
import { registrationBody } from './registration.ts';
import { Reporter } from './reporter.ts';
import { mostPostsAtOnce, TransportError } from './transport.ts';
import { Workload } from './workload.ts';

/**
 * - `new`: made, not started.
 * - `connecting`: registers, again and again until the server answers. Also after the server has
 *   forgotten the worker; what it holds goes on.
 * - `running`: registered; polls, works, reports.
 * - `draining`: `stop` was called; begins nothing, lets run what runs.
 * - `stopped`: holds nothing, all sockets are closed. Final.
 */
export type WorkerState = 'new' | 'connecting' | 'running' | 'draining' | 'stopped';

export interface Worker {
  readonly id: string;
  readonly state: WorkerState;
  /** Resolves once the worker has stopped, whoever stopped it. Never rejects. */
  readonly stopped: Promise<void>;
  /**
   * Resolves when the server has registered the worker, however long that takes.
   * @throws TransportError when the server refuses it for good (400, 401, 403); it is then stopped.
   */
  start(): Promise<void>;
  /**
   * Hands back what has not begun, lets running handlers end within the drain time, hands back the
   * rest, flushes results, says good-bye. Called again it returns the same promise.
   */
  stop(): Promise<void>;
}

/** @throws RangeError or TypeError naming the option that is wrong. */
export function createWorker(options: WorkerOptions): Worker {
  return new PullWorker(workerSettings(options));
}

const pollSeconds = 30;
/** What a server hands out in one answer at most. */
const mostTasksAtOnce = 1_000;
/** The server answers a poll after its time; an answer that is this late got lost. */
const pollGraceMs = 5_000;
/** A poll that comes back empty so soon was not held, by a server that stops, say, or a proxy. */
const hastyPollMs = 1_000;
const registerLimitMs = 10_000;
/** How long a stopping worker tries to get its last results answered. */
const flushLimitMs = 10_000;
const farewellLimitMs = 2_000;
/** Of the interval: two heartbeats are never under way at once. */
const beatLimitShare = 2 / 3;
const nextBeatAfterFailureMs = 1_000;

/**
 * Everything here happens in reaction to an answer, a finished task or an alarm, and ends in
 * `#pump`, which looks at the whole state and opens whatever request is now due.
 */
class PullWorker implements Worker {
  readonly #settings: WorkerSettings;
  readonly #bootId: string;
  readonly #lanes: Readonly<Record<'register' | 'poll' | 'beat' | 'event', Lane>>;
  readonly #reportLanes: readonly Lane[];
  readonly #workload: Workload;
  readonly #reporter: Reporter;
  readonly #progress: ProgressSender;
  readonly #whenStarted = Promise.withResolvers<void>();
  readonly #whenStopped = Promise.withResolvers<void>();
  /** Resolved by the next report that is answered and the next handler that ends. */
  #onQuiet: (() => void) | null = null;
  #state: WorkerState = 'new';
  #isRegistered = false;
  #wasRegistered = false;
  #isPumpDue = false;
  #cancelBeat: CancelTimer | null = null;
  #complaint: string | null = null;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
    this.#bootId = settings.random.id();
    const { clock, random, transport, log, id } = settings;
    const lane = (): Lane => new Lane({ clock, random, onFree: () => this.#pump() });
    this.#lanes = {
      register: lane(),
      poll: lane(),
      beat: lane(),
      event: lane(),
    };
    this.#reportLanes = Array.from({ length: mostPostsAtOnce }, lane);
    this.#progress = new ProgressSender({
      lane: this.#lanes.event,
      transport,
      random,
      workerId: id,
    });
    this.#reporter = new Reporter({
      lanes: this.#reportLanes,
      transport,
      log,
      want: () => (this.#lanes.poll.busy ? 0 : this.#room()),
      onTasks: (tasks) => this.#take(tasks),
      onUnknown: () => this.#forgotten(),
      onEnd: () => this.#schedulePump(),
    });
    this.#workload = new Workload({
      ...settings,
      onProgress: (task, fraction, message) => this.#progress.add(task, fraction, message),
      onReport: (report, task) => {
        this.#reporter.add(report, task);
        this.#schedulePump();
      },
    });
  }

  get id(): string {
    return this.#settings.id;
  }

  get state(): WorkerState {
    return this.#state;
  }

  get stopped(): Promise<void> {
    return this.#whenStopped.promise;
  }

  start(): Promise<void> {
    if (this.#state === 'new') {
      this.#state = 'connecting';
      this.#pump();
    }
    return this.#whenStarted.promise;
  }

  stop(): Promise<void> {
    if (this.#state === 'new') this.#finish();
    else if (this.#state !== 'draining' && this.#state !== 'stopped') {
      this.#state = 'draining';
      void this.#drain();
    }
    return this.stopped;
  }

  /** Room for further tasks. */
  #room(): number {
    if (this.#workload.isClosed) return 0;
    const room = this.#settings.capacity - this.#workload.size - this.#reporter.expected;
    return Math.max(0, Math.min(mostTasksAtOnce, room));
  }

  /** Once for all tasks that end in this turn, and still in this turn. */
  #schedulePump(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    queueMicrotask(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#state === 'new' || this.#state === 'stopped') return;
    if (!this.#isRegistered) return this.#register();
    this.#reporter.pump();
    this.#progress.pump();
    this.#poll();
    this.#onQuiet?.();
  }

  #register(): void {
    const { register } = this.#lanes;
    if (register.free) void this.#registerOnce(register);
  }

  async #registerOnce(lane: Lane): Promise<void> {
    const { transport, log, id, heartbeatMs, random } = this.#settings;
    const body = registrationBody(this.#settings, this.#bootId);
    const outcome = await lane.call(registerLimitMs, (signal) => transport.register(body, signal));
    if (this.#state === 'stopped') return;
    if (!outcome.ok) return this.#registerFailed(lane, outcome.error);
    if (this.#wasRegistered) this.#praise();
    this.#complaint = null;
    log.info('registered', { worker: id });
    this.#isRegistered = true;
    this.#wasRegistered = true;
    if (this.#state === 'connecting') this.#state = 'running';
    this.#whenStarted.resolve();
    // Workers that start together don't beat together.
    this.#scheduleBeat(heartbeatMs * random.next());
    this.#pump();
  }

  #registerFailed(lane: Lane, error: TransportError): void {
    const isFinal = error.status === 400 || error.status === 401 || error.status === 403;
    // Later the handlers' work is worth more than the doubt: the token may be put right again.
    if (!isFinal || this.#wasRegistered) {
      this.#complain('registration failed, trying again', error);
      return lane.pause(error);
    }
    this.#complain('registration was refused', error);
    this.#whenStarted.reject(error);
    this.#finish();
  }

  /** The server knows us no more, as after a loss of its store. What we hold stays held. */
  #forgotten(): void {
    if (!this.#isRegistered) return;
    this.#isRegistered = false;
    if (this.#state === 'running') this.#state = 'connecting';
    this.#pump();
  }

  #poll(): void {
    const lane = this.#lanes.poll;
    const isIdle = this.#workload.size < this.#settings.concurrency;
    // A post that asks for tasks is answered sooner than a second request would be.
    if (!lane.free || this.#reporter.asked > 0 || !isIdle) return;
    const max = this.#room();
    if (max > 0) void this.#pollOnce(lane, max);
  }

  async #pollOnce(lane: Lane, max: number): Promise<void> {
    const { transport, clock } = this.#settings;
    const query = { max, timeoutSeconds: pollSeconds };
    const begunAt = clock.steady();
    const outcome = await lane.call(pollSeconds * 1_000 + pollGraceMs, (signal) =>
      transport.poll(query, signal),
    );
    if (outcome.ok) {
      this.#take(outcome.answer);
      const isHasty = outcome.answer.length === 0 && clock.steady() - begunAt < hastyPollMs;
      if (isHasty) lane.pause(new TransportError('the poll was not held'));
    } else if (outcome.error.status === 404) this.#forgotten();
    else lane.pause(outcome.error);
    this.#pump();
  }

  #take(tasks: readonly TaskBody[]): void {
    if (this.#state !== 'stopped') this.#workload.accept(tasks);
  }

  #scheduleBeat(delayMs: number): void {
    const { clock, heartbeatMs } = this.#settings;
    this.#cancelBeat?.();
    this.#cancelBeat = clock.after(delayMs, () => {
      this.#scheduleBeat(heartbeatMs);
      if (this.#isRegistered && this.#lanes.beat.free) void this.#beat();
    });
  }

  async #beat(): Promise<void> {
    const isFull = this.#workload.running >= this.#settings.concurrency;
    const status = this.#workload.isClosed ? 'draining' : isFull ? 'busy' : 'idle';
    const { heartbeatMs, random } = this.#settings;
    const outcome = await this.#sendBeat(status, heartbeatMs * beatLimitShare);
    if (this.#state === 'stopped') return;
    if (outcome.ok) {
      this.#praise();
      this.#workload.cancel(outcome.answer.cancel_task_ids ?? []);
    } else {
      this.#scheduleBeat(Math.min(heartbeatMs, nextBeatAfterFailureMs) * (0.5 + random.next() / 2));
      if (outcome.error.status === 404) this.#forgotten();
      else this.#beatFailed(outcome.error);
    }
    this.#pump();
  }

  /** A link that swallows a heartbeat swallows answers as well: they are asked for anew. */
  #beatFailed(error: TransportError): void {
    this.#complain('the heartbeat failed, trying again', error);
    if (error.status !== null) return;
    this.#lanes.poll.abort(error.message);
    for (const lane of this.#reportLanes) lane.abort(error.message);
  }

  /** Once a reason: an outage must not fill the log. */
  #complain(message: string, { message: reason }: TransportError): void {
    if (this.#complaint === reason) return;
    this.#complaint = reason;
    this.#settings.log.warn(message, { worker: this.id, reason });
  }

  /** The end of a complaint. */
  #praise(): void {
    if (this.#complaint === null) return;
    this.#complaint = null;
    this.#settings.log.info('connected again', { worker: this.id });
  }

  #sendBeat(status: string, limitMs: number): Promise<Outcome<HeartbeatAnswer>> {
    const { transport, id } = this.#settings;
    const body: HeartbeatBody = {
      worker_id: id,
      status,
      current_tasks: [...this.#workload.attempts('running'), ...this.#reporter.attempts()],
      prefetched_tasks: this.#workload.attempts('queued'),
    };
    return this.#lanes.beat.call(limitMs, (signal) => transport.heartbeat(body, signal));
  }

  async #drain(): Promise<void> {
    const { drainMs, log } = this.#settings;
    log.info('draining', { running: this.#workload.running });
    this.#workload.close();
    // Said before the poll is cut: a task that is just being sent still arrives and is handed back.
    await this.#farewell('draining');
    this.#lanes.poll.close();
    await this.#quiet(drainMs, () => this.#workload.running === 0);
    this.#workload.giveUp();
    await this.#quiet(flushLimitMs, () => this.#reporter.size === 0);
    if (this.#reporter.size > 0)
      log.error('results were not answered', { count: this.#reporter.size });
    await this.#farewell('offline');
    this.#finish();
  }

  /** One heartbeat with a last word, if the server is there to hear it. */
  async #farewell(status: 'draining' | 'offline'): Promise<void> {
    await this.#quiet(farewellLimitMs, () => this.#lanes.beat.free);
    if (!this.#isRegistered || !this.#lanes.beat.free) return;
    await this.#sendBeat(status, farewellLimitMs);
  }

  /** Waits until the condition holds, at most so long. */
  async #quiet(limitMs: number, holds: () => boolean): Promise<void> {
    if (holds()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#settings.clock.after(limitMs, resolve);
    this.#onQuiet = () => {
      if (holds()) resolve();
    };
    this.#pump();
    await promise;
    this.#onQuiet = null;
    cancel();
  }

  #finish(): void {
    assert(this.#state !== 'stopped', 'a worker stops once');
    this.#state = 'stopped';
    this.#cancelBeat?.();
    for (const lane of [...Object.values(this.#lanes), ...this.#reportLanes]) lane.close();
    this.#settings.transport.close();
    this.#settings.files.close();
    this.#whenStarted.resolve();
    this.#whenStopped.resolve();
  }
}
