import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Store, StuckAttempt, StuckQuery } from '../store/contract.ts';
import { aboutJob } from './about-job.ts';
import type { Decider } from './decider.ts';
import { StoreTrouble } from './store-trouble.ts';

export interface TimeoutMonitorOptions {
  /** Longest time in ASSIGNED. Default 5 min. */
  readonly assignedTimeoutMs: number;
  /** Longest time in SCHEDULED. Default 10 min. */
  readonly scheduledTimeoutMs: number;
  /** Between two cycles, and before the first, so that workers can come back. Default 30 s. */
  readonly checkIntervalMs: number;
  /** Attempts of a status that one cycle takes. Default 100. */
  readonly batchSize: number;
  /** Default true. */
  readonly enabled: boolean;
}

export const defaultTimeoutMonitor: TimeoutMonitorOptions = {
  assignedTimeoutMs: 5 * 60_000,
  scheduledTimeoutMs: 10 * 60_000,
  checkIntervalMs: 30_000,
  batchSize: 100,
  enabled: true,
};

/** What one cycle did. `checked` is `recovered` + `failed` + `lostRaces`. */
export interface CycleResult {
  readonly checked: number;
  readonly timedOutAssigned: readonly string[];
  readonly timedOutScheduled: readonly string[];
  readonly recovered: number;
  readonly failed: number;
  /** A sign of work, or an end, came between the look and the decision. */
  readonly lostRaces: number;
}

interface MonitorParts {
  readonly store: Store;
  readonly decider: Decider;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: TimeoutMonitorOptions;
  /** Behind others that its worker is busy with, a task is not stuck, only in the wrong place. */
  readonly mayHaveBegun: (attempt: string) => boolean;
}

type Outcome = 'recovered' | 'failed' | 'lost_race';

/** An attempt that was not given up: by an error, or because its blueprint is not held here. */
interface Postponed {
  readonly status: StuckQuery['status'];
  readonly times: number;
  /** Steady instant. */
  readonly until: number;
}

/** The first pause; each further one is twice as long. */
const postponeMs = 60_000;
const longestPostponeMs = 30 * 60_000;

/** Gives up attempts that were handed out and show no sign of work, though their worker lives. */
export class TimeoutMonitor {
  readonly #parts: MonitorParts;
  readonly #trouble: StoreTrouble;
  #cancel: CancelTimer = () => undefined;
  #running: Promise<void> | null = null;
  #isStopped = true;
  /** By attempt. They stay the oldest, and would else fill the batches that others wait for (H-k). */
  readonly #postponed = new Map<string, Postponed>();

  constructor(parts: MonitorParts) {
    this.#parts = parts;
    this.#trouble = new StoreTrouble(parts.log, {
      begins: 'stuck attempts could not be looked for',
      ends: 'stuck attempts can be looked for again',
    });
  }

  start(): void {
    if (!this.#parts.options.enabled) return;
    this.#isStopped = false;
    this.#schedule();
  }

  /** Resolves when the cycle that is under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }

  #schedule(): void {
    const { clock, options } = this.#parts;
    this.#cancel = clock.after(options.checkIntervalMs, () => {
      this.#running = this.cycle()
        .then(
          () => this.#trouble.isOver(),
          (error: unknown) => this.#trouble.met(error),
        )
        .then(() => {
          if (!this.#isStopped) this.#schedule();
        });
    });
  }

  /** First ASSIGNED, then SCHEDULED. */
  async cycle(): Promise<CycleResult> {
    const { assignedTimeoutMs, scheduledTimeoutMs } = this.#parts.options;
    const assigned = await this.#giveUp('ASSIGNED', assignedTimeoutMs);
    const scheduled = await this.#giveUp('SCHEDULED', scheduledTimeoutMs);
    const all = [...assigned, ...scheduled];
    const count = (outcome: Outcome): number => all.filter((one) => one.outcome === outcome).length;
    const recovered = (found: typeof all): string[] =>
      found.filter(({ outcome }) => outcome === 'recovered').map(({ taskId }) => taskId);
    return {
      checked: all.length,
      timedOutAssigned: recovered(assigned),
      timedOutScheduled: recovered(scheduled),
      recovered: count('recovered'),
      failed: count('failed'),
      lostRaces: count('lost_race'),
    };
  }

  async #giveUp(
    status: StuckQuery['status'],
    olderThanMs: number,
  ): Promise<{ taskId: string; outcome: Outcome }[]> {
    const limit = this.#parts.options.batchSize + this.#postponed.size;
    const found = await this.#parts.store.stuck({ status, olderThanMs, limit });
    if (found.length < limit) this.#forgetOthers(status, found);
    const results: { taskId: string; outcome: Outcome }[] = [];
    for (const stuck of this.#batchOf(found)) {
      const outcome = await this.#giveUpOne(stuck, status);
      if (outcome === 'recovered') this.#postponed.delete(stuck.attempt);
      else this.#postpone(stuck.attempt, status);
      results.push({ taskId: stuck.taskId, outcome });
    }
    return results;
  }

  /** Whoever was tried before comes last. */
  #batchOf(found: readonly StuckAttempt[]): readonly StuckAttempt[] {
    const now = this.#parts.clock.steady();
    const fresh = found.filter(({ attempt }) => !this.#postponed.has(attempt));
    const again = found.filter(
      ({ attempt }) => (this.#postponed.get(attempt)?.until ?? now + 1) <= now,
    );
    return [...fresh, ...again].slice(0, this.#parts.options.batchSize);
  }

  #postpone(attempt: string, status: StuckQuery['status']): void {
    const times = (this.#postponed.get(attempt)?.times ?? 0) + 1;
    const pauseMs = Math.min(longestPostponeMs, postponeMs * 2 ** (times - 1));
    this.#postponed.set(attempt, { status, times, until: this.#parts.clock.steady() + pauseMs });
  }

  /** All of them were found: what is not among them is stuck no more. */
  #forgetOthers(status: StuckQuery['status'], found: readonly StuckAttempt[]): void {
    const still = new Set(found.map(({ attempt }) => attempt));
    for (const [attempt, postponed] of this.#postponed) {
      if (postponed.status === status && !still.has(attempt)) this.#postponed.delete(attempt);
    }
  }

  /** One by one, so that one that fails holds up no other. */
  async #giveUpOne({ jobId, attempt }: StuckAttempt, status: string): Promise<Outcome> {
    const { decider, store, log, mayHaveBegun } = this.#parts;
    const cause = mayHaveBegun(attempt) ? 'stuck' : 'not_started';
    const fields = { attempt, status };
    try {
      const applied = await decider.one({
        jobId,
        about: { attempt },
        signal: (task) => ({ type: 'returned', task, attempt, cause }),
      });
      if (applied.type !== 'done') return 'lost_race';
      const correlation = applied.job.correlationId;
      log.warn('an attempt was stuck and is given up', { job: jobId, correlation, ...fields });
      return 'recovered';
    } catch (error) {
      const about = await aboutJob(store, jobId);
      log.error('a stuck attempt could not be given up', { ...about, ...fields, error });
      return 'failed';
    }
  }
}
