import { toHandlerError } from '../core/advance.ts';
import type { State } from '../core/blueprint.ts';
import { type ClientInfo, type Run, type RunningJob, RunningView } from '../core/handler.ts';
import type { Job } from '../core/job.ts';
import type { HandledSignal, HandlerFailedSignal } from '../core/signal.ts';
import type { LeaseOffer } from '../core/step.ts';
import type { FilesOptions } from '../files/contract.ts';
import { handlerFiles } from '../files/handler-files.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { type Clock, delay } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import type { Store } from '../store/contract.ts';
import type { Committed } from './committer.ts';
import type { Decider } from './decider.ts';
import type { Progress } from './ports.ts';
import type { Registry } from './registry.ts';
import type { EngineSettings } from './settings.ts';
import { Steps } from './steps.ts';
import { StoreTrouble } from './store-trouble.ts';

export interface ExecutorParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly instance: string;
  readonly client: (name: string) => ClientInfo;
  readonly settings: EngineSettings;
  readonly onProgress: (jobId: string, progress: Progress) => void;
  readonly onProgressEnd: (jobId: string, attempt: string) => void;
  readonly files?: FilesOptions;
}

export interface EndedLease {
  readonly jobId: string;
  readonly token: string;
}

/** A lease that was taken, and whose handler begins when there is room. */
interface Leased {
  readonly job: Job;
  readonly token: string;
}

interface Running {
  readonly job: Job;
  readonly token: string;
  readonly abort: AbortController;
  /** Steady instant from which its lease is not renewed any more. */
  readonly timeoutAt: number;
  readonly ended: Promise<void>;
  /** Its handler is done, and only the answer is still to be stored: nothing is left to abort. */
  hasReturned: boolean;
}

const firstRetryMs = 100;
const longestRetryMs = 5_000;
/** Jobs claimed by one commit of a sweep. */
const pageSize = 100;

/** Runs `run` handlers, each under a lease of its own. */
export class Executor {
  readonly #parts: ExecutorParts;
  readonly #running = new Map<string, Running>();
  /** Job → lease. One commit may take more leases than there is room for. */
  readonly #queue = new Map<string, Leased>();
  readonly #trouble: StoreTrouble;
  #decider: Decider | null = null;
  #sweeping = false;
  #stopped = false;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    this.#trouble = new StoreTrouble(parts.log, {
      begins: 'the answers of handlers could not be stored; trying again',
      ends: 'the answers of handlers can be stored again',
    });
  }

  /** The decider offers this executor's leases, so it can only be handed in afterwards. */
  start(decider: Decider): void {
    this.#decider = decider;
  }

  /** Waits for what runs, at most `drainMs`, then aborts it. Its lease runs out, and others take over. */
  async stop(drainMs: number): Promise<void> {
    this.#stopped = true;
    const all = Promise.all([...this.#running.values()].map(({ ended }) => ended));
    const cancelDrain = new AbortController();
    await Promise.race([all, delay(this.#parts.clock, drainMs, cancelDrain.signal)]);
    cancelDrain.abort();
    for (const { abort } of this.#running.values()) abort.abort(new Error('the server stops'));
  }

  /** Room for one more handler, or null. */
  offerLease(): LeaseOffer | null {
    const { settings, random, instance } = this.#parts;
    if (this.#stopped || this.#room() <= 0) return null;
    return { lease: { token: random.id(), instance }, forMs: settings.leaseMs };
  }

  #room(): number {
    return this.#parts.settings.maxHandlers - this.#running.size - this.#queue.size;
  }

  /** Runs what a commit gave this instance a lease for, stops what has lost its own. */
  onCommitted({ done }: Committed): void {
    for (const { outcome } of done) {
      const { job } = outcome;
      const running = this.#running.get(job.id);
      if (running?.hasReturned === false && running.token !== job.lease?.token) {
        running.abort.abort(new Error(`the job is ${job.status}`));
      }
      if (this.#queue.get(job.id)?.token !== job.lease?.token) this.#queue.delete(job.id);
      if (job.lease?.instance !== this.#parts.instance) continue;
      const { token } = job.lease;
      if (running?.token !== token && !this.#queue.has(job.id))
        this.#queue.set(job.id, { job, token });
    }
    this.#runQueued();
  }

  #runQueued(): void {
    for (const [jobId, { job, token }] of this.#queue) {
      if (this.#running.size >= this.#parts.settings.maxHandlers) return;
      this.#queue.delete(jobId);
      this.#run(job, token);
    }
  }

  /** Claims what is runnable and what nobody runs: after a start, a death, or a lack of room. */
  async sweep(): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    try {
      while (await this.#claimPage());
    } finally {
      this.#sweeping = false;
    }
  }

  /** @returns whether there may be more to claim. */
  async #claimPage(): Promise<boolean> {
    const { store, registry } = this.#parts;
    const page = Math.min(this.#room(), pageSize);
    if (page <= 0 || this.#stopped || this.#decider === null) return false;
    const ids = await store.runnable(registry.list(), page);
    const applied = await this.#decider.all(
      ids.flatMap((jobId) => {
        const offer = this.offerLease();
        if (offer === null) return [];
        return [{ jobId, signal: () => ({ type: 'claimed' as const, ...offer }) }];
      }),
    );
    return ids.length === page && applied.some(({ type }) => type === 'done');
  }

  /** Keeps the leases of what still may run. */
  async renew(): Promise<void> {
    const { store, clock, settings } = this.#parts;
    const inTime = [...this.#running.values()].filter(
      ({ timeoutAt }) => timeoutAt > clock.steady(),
    );
    const leases = [...inTime, ...this.#queue.values()].map(({ job, token }) => ({
      jobId: job.id,
      token,
      forMs: settings.leaseMs,
    }));
    if (leases.length === 0) return;
    const lost = new Set(await store.renewLeases(leases));
    for (const { token, abort } of this.#running.values()) {
      if (lost.has(token)) abort.abort(new Error('the lease was lost'));
    }
    for (const [jobId, { token }] of this.#queue) {
      if (lost.has(token)) this.#queue.delete(jobId);
    }
  }

  /**
   * Leases ran out, those of a dead instance all at once: they are given up in one commit and taken by
   * the next ones. What is ours and in time was merely late.
   * @returns how many are dealt with: not those whose job's blueprint is held by others only.
   */
  async onLeases(leases: readonly EndedLease[]): Promise<number> {
    const others = leases.filter(({ jobId, token }) => !this.#isOurs(jobId, token));
    if (others.length < leases.length) await this.renew();
    const applied = await this.#decider?.all(
      others.map(({ jobId, token }) => ({
        jobId,
        signal: () => ({ type: 'handler_lost', token }),
      })),
    );
    if (applied?.some(({ type }) => type === 'done')) await this.sweep();
    const notHeld = applied?.filter(({ type }) => type === 'not_held').length ?? 0;
    return leases.length - notHeld;
  }

  #isOurs(jobId: string, token: string): boolean {
    if (this.#queue.get(jobId)?.token === token) return true;
    const running = this.#running.get(jobId);
    return running?.token === token && running.timeoutAt > this.#parts.clock.steady();
  }

  #run(job: Job, token: string): void {
    const { registry, clock } = this.#parts;
    const state = registry.find(job.blueprint, job.blueprintVersion)?.states.get(job.state);
    if (state === undefined) return;
    const abort = new AbortController();
    const timeoutAt = clock.steady() + state.timeoutMs;
    const cancelTimeout = clock.after(state.timeoutMs, () =>
      abort.abort(new Error(`the handler ran longer than its timeout of ${state.timeoutMs} ms`)),
    );
    const ended = this.#runToEnd(job, token, state, abort.signal)
      .catch((error: unknown) => {
        // A bug of ours. Its lease runs out, and the handler is tried again.
        this.#log(job).error('a handler broke off', { error });
      })
      .finally(() => {
        cancelTimeout();
        this.#parts.onProgressEnd(job.id, token);
        if (this.#running.get(job.id)?.token === token) this.#running.delete(job.id);
        this.#runQueued();
        // There was no room until now, and runnable jobs may be waiting for it.
        if (this.#room() === 1) void this.sweep().catch(() => undefined);
      });
    this.#running.set(job.id, { job, token, abort, timeoutAt, ended, hasReturned: false });
  }

  async #runToEnd(job: Job, token: string, state: State, signal: AbortSignal): Promise<void> {
    const { files } = this.#parts;
    const own = files && handlerFiles(files, { jobId: job.id, token, signal });
    try {
      await this.#runWithFiles({ job, token }, state, signal, own);
    } finally {
      await own?.close();
    }
  }

  async #runWithFiles(
    { job, token }: Leased,
    state: State,
    signal: AbortSignal,
    files: TaskFolder | undefined,
  ): Promise<void> {
    const { client, registry, clock } = this.#parts;
    const stores = registry.get(job.blueprint, job.blueprintVersion).stores;
    const around = { client: client(job.client), stores, now: clock.now() };
    const steps = new Steps(this.#parts.store, { jobId: job.id, token });
    const progress: RunningJob['progress'] = (fraction, message = '') =>
      this.#parts.onProgress(job.id, { attempt: token, fraction, message });
    const view = new RunningView(job, around, {
      signal,
      log: this.#log(job),
      files,
      steps,
      progress,
    });
    let result: HandledSignal | HandlerFailedSignal;
    try {
      const run = chooseRun(state, job, client(job.client));
      const action = (await run(view)) ?? undefined;
      const { emissions } = view;
      result = { type: 'handled', token, action, data: view.dataAfter(), emissions };
    } catch (error) {
      result = { type: 'handler_failed', token, error: toHandlerError(error) };
    }
    const running = this.#running.get(job.id);
    if (running?.token === token) running.hasReturned = true;
    await this.#tell(job, result);
  }

  /** The answer is kept until it is stored or refused: losing it would repeat the handler's effects. */
  async #tell(job: Job, signal: HandledSignal | HandlerFailedSignal): Promise<void> {
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(2 * waitMs, longestRetryMs)) {
      try {
        await this.#decider?.one({
          jobId: job.id,
          signal: () => signal,
          onRefusal: (reason) => [
            { type: 'signal_refused', reason, details: { signal: signal.type } },
          ],
        });
        this.#trouble.isOver();
        return;
      } catch (error) {
        if (this.#stopped) return;
        this.#trouble.met(error, { job: job.id, correlation: job.correlationId });
      }
      await delay(this.#parts.clock, waitMs);
    }
  }

  #log(job: Job): Log {
    const { blueprint, state, correlationId } = job;
    return this.#parts.log.child({ job: job.id, blueprint, state, correlation: correlationId });
  }
}

function chooseRun(state: State, job: Job, client: ClientInfo): Run {
  const context = { input: job.input, data: job.data, client };
  for (const { when, slot } of state.handlers) {
    if (when !== null && !when(context).holds) continue;
    if (slot.type === 'run') return slot.run;
    break;
  }
  throw new Error(`state "${state.name}" has no run handler whose guard holds`);
}
