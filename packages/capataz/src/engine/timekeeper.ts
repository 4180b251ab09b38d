import type { Change } from '../core/change.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Due, Store } from '../store/contract.ts';
import { aboutJob } from './about-job.ts';
import type { Committed } from './committer.ts';
import type { Address, Applied, Decider } from './decider.ts';
import type { EndedLease } from './executor.ts';
import { isStoreAway, isStoreBusy, StoreTrouble } from './store-trouble.ts';

export interface TimekeeperParts {
  readonly store: Store;
  readonly decider: Decider;
  readonly clock: Clock;
  readonly log: Log;
  /** @returns how many of them are dealt with. */
  readonly onLeases: (leases: readonly EndedLease[]) => Promise<number>;
  readonly onSilence: (worker: string) => Promise<void>;
  /** The alarm rang so late that this process can't have been running. Called before anything else. */
  readonly onLate: () => void;
}

const pageSize = 500;
/** Looks again after this long even if nothing announced itself: another instance may have set it. */
const longestSleepMs = 30_000;
/** After a failure, and for what is due but can't be dealt with here. */
const retryMs = 1_000;
/** A job that waits for a place looks again after a minute. */
const doubtMs = 65_000;
/** A busy loop is late by less; what rings later was frozen or blocked. */
const lateMs = 1_000;

/**
 * Turns due deadlines into signals. Sleeps until the next one; a commit that sets an earlier one
 * wakes it. Deadlines live in the store, so a restart or another instance misses none.
 */
export class Timekeeper {
  readonly #parts: TimekeeperParts;
  readonly #trouble: StoreTrouble;
  readonly #locks: StoreTrouble;
  /** Jobs that the pass has found locked. */
  #locked = 0;
  #cancelAlarm: CancelTimer = () => undefined;
  #alarmAt = Number.POSITIVE_INFINITY;
  #running: Promise<void> | null = null;
  #rangMeanwhile = false;
  /** A job waits for a place under a key, or did so once: places that become free are looked after. */
  #isAnyoneQueueing = true;
  #hasSeenQueue = false;
  #cancelDoubt: CancelTimer = () => undefined;
  /** Due, and not to be dealt with here: it must not fill the page that others wait for. */
  #unsolved = 0;
  #stopped = true;

  constructor(parts: TimekeeperParts) {
    this.#parts = parts;
    this.#trouble = new StoreTrouble(parts.log, {
      begins: 'deadlines could not be dealt with; trying again',
      ends: 'deadlines are dealt with again',
    });
    this.#locks = new StoreTrouble(parts.log, {
      begins: 'the deadline of a job that somebody keeps locked in the store has to wait',
      ends: 'no deadline has to wait for a lock any more',
    });
  }

  start(): void {
    this.#stopped = false;
    this.wakeIn(0);
    // Whoever waits from before this start looks again within a minute, and is known then.
    this.#isAnyoneQueueing = true;
    this.#cancelDoubt = this.#parts.clock.after(doubtMs, () => {
      this.#isAnyoneQueueing = this.#hasSeenQueue;
    });
  }

  /** Resolves when the pass that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelAlarm();
    this.#cancelDoubt();
    await this.#running;
  }

  /** Makes sure that it looks within this many ms. */
  wakeIn(ms: number): void {
    if (this.#stopped) return;
    const at = this.#parts.clock.steady() + ms;
    if (at >= this.#alarmAt) return;
    this.#cancelAlarm();
    this.#alarmAt = at;
    this.#cancelAlarm = this.#parts.clock.after(ms, () => this.#ring());
  }

  onCommitted({ done, assigned, lettersCame }: Committed): void {
    let earliest = lettersCame ? 0 : Number.POSITIVE_INFINITY;
    for (const { request } of done) {
      const { timers, leaseForMs, tasks, also } = request.change;
      for (const { afterMs } of also?.rearm ?? []) earliest = Math.min(earliest, afterMs);
      if (this.#mayRing(request.change)) earliest = 0;
      if (timers !== 'keep')
        for (const { afterMs } of timers) earliest = Math.min(earliest, afterMs);
      if (leaseForMs !== 'keep') earliest = Math.min(earliest, leaseForMs);
      for (const task of tasks) {
        if (!('timers' in task)) continue;
        for (const { afterMs } of task.timers) earliest = Math.min(earliest, afterMs);
      }
    }
    for (const { spec } of assigned) earliest = Math.min(earliest, spec.executionLimitMs);
    if (earliest < longestSleepMs) this.wakeIn(earliest);
  }

  /**
   * Whether the store may have rung an alarm with this change: for a letter in an inbox, the last
   * branch of a fan-out, or a place that somebody waits for.
   */
  #mayRing({ job, tasks, also, timers }: Change): boolean {
    if (job.wait?.type === 'timer' && job.wait.key !== undefined) {
      this.#isAnyoneQueueing = true;
      this.#hasSeenQueue = true;
    }
    if (also !== null && (also.posts.length > 0 || also.looks || also.keys.length > 0)) return true;
    if (also !== null && also.awaits !== null) return true;
    if (tasks.some(({ type }) => type === 'collect')) return true;
    const isGivingBack = timers !== 'keep' || (also?.releases.length ?? 0) > 0;
    return this.#isAnyoneQueueing && isGivingBack;
  }

  #ring(): void {
    if (this.#parts.clock.steady() - this.#alarmAt > lateMs) this.#parts.onLate();
    this.#alarmAt = Number.POSITIVE_INFINITY;
    if (this.#stopped) return;
    if (this.#running !== null) {
      // The pass that is under way may have read before this deadline was set.
      this.#rangMeanwhile = true;
      return;
    }
    this.#rangMeanwhile = false;
    this.#running = this.#pass()
      .catch((error: unknown) => {
        this.#trouble.met(error);
        return retryMs;
      })
      .then((nextMs) => {
        this.#running = null;
        this.wakeIn(this.#rangMeanwhile ? 0 : nextMs);
      });
  }

  /** @returns ms until the next look. */
  async #pass(): Promise<number> {
    const { due, nextInMs } = await this.#parts.store.due(pageSize + this.#unsolved);
    this.#locked = 0;
    const solved = await this.#deal(due);
    this.#trouble.isOver();
    if (this.#locked === 0) this.#locks.isOver();
    this.#unsolved = due.length - solved;
    if (solved < due.length) return solved > 0 ? 0 : retryMs;
    if (due.length > 0) return 0;
    return Math.min(nextInMs ?? longestSleepMs, longestSleepMs);
  }

  /**
   * @returns how many of them are dealt with.
   * @throws CapatazError STORE_UNAVAILABLE: then the rest of them would only meet the same.
   */
  async #deal(due: readonly Due[]): Promise<number> {
    const { decider, onLeases } = this.#parts;
    const timers = due.filter((item) => item.type === 'timer').map(timerAddress);
    let solved = await this.#dealWith(timers, async (some) => countSolved(await decider.all(some)));
    solved += await this.#dealWith(
      due.filter((item) => item.type === 'lease'),
      onLeases,
    );
    for (const item of due) {
      if (item.type !== 'silence') continue;
      try {
        await this.#parts.onSilence(item.worker);
        solved += 1;
      } catch (error) {
        if (isStoreAway(error)) throw error;
        const fields = { worker: item.worker, error: String(error) };
        this.#parts.log.error('the silence of a worker could not be dealt with', fields);
      }
    }
    return solved;
  }

  /** All in one commit; in halves where that fails, so that one bad job holds up no other. */
  async #dealWith<T extends { readonly jobId: string }>(
    items: readonly T[],
    deal: (some: readonly T[]) => Promise<number>,
  ): Promise<number> {
    const [first, ...others] = items;
    if (first === undefined) return 0;
    try {
      return await deal(items);
    } catch (error) {
      if (isStoreAway(error)) throw error;
      if (others.length === 0) return this.#failed(first, error);
    }
    const middle = Math.ceil(items.length / 2);
    const solved = await this.#dealWith(items.slice(0, middle), deal);
    return solved + (await this.#dealWith(items.slice(middle), deal));
  }

  async #failed({ jobId }: { readonly jobId: string }, error: unknown): Promise<number> {
    const about = await aboutJob(this.#parts.store, jobId);
    if (isStoreBusy(error)) {
      this.#locked += 1;
      this.#locks.met(error, about);
    } else this.#parts.log.error('deadline failed', { ...about, error: String(error) });
    return 0;
  }
}

/** What is refused was dealt with by another, or stays: a store that goes on naming it must not keep us busy. */
function countSolved(applied: readonly Applied[]): number {
  return applied.filter(({ type }) => type === 'done').length;
}

function timerAddress({ jobId, taskId, name, at }: Extract<Due, { type: 'timer' }>): Address {
  if (name === 'inbox') {
    return { jobId, inbox: true, signal: (_task, items) => ({ type: 'inbox', items, at }) };
  }
  return {
    jobId,
    ...(taskId === null ? {} : { about: { taskId } }),
    signal: (task) => ({ type: 'deadline', name, task, at }),
  };
}
