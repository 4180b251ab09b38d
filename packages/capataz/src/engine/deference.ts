import { isBetter } from '../core/strategy.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import { fitsProfile, isForOne, type Profile, type Profiles } from './profiles.ts';
import type { Wake } from './wakes.ts';

export interface DeferenceParts {
  readonly clock: Clock;
  readonly profiles: Profiles;
  /** Workers that other instances hear from, and that take tasks. */
  readonly elsewhere: () => Iterable<WorkerRecord>;
  /** Attempts that each worker holds. */
  readonly loads: () => Promise<ReadonlyMap<string, number>>;
  /** Offers what is queued of this class to whoever waits here. @returns how many it took. */
  readonly offer: (wake: Wake) => Promise<number>;
}

/** A task is left so long to the instance at which a better worker waits (S-41). */
const leaveForMs = 20;
/** Who did not come for a task is not waited for again until then. */
const declinedForMs = 1_000;
/** Who is idle elsewhere is looked up so often, at most. */
const lookEveryMs = 1_000;

/** Idle workers of other instances that offer the same. */
interface Peers {
  readonly profile: Profile;
  readonly workers: readonly string[];
}

/**
 * Leaves a fresh task for a moment to another instance, where a better worker stands idle. Whether that
 * one really waits is not known here: when nobody came, it is not waited for during the next second, so
 * that a wrong guess costs one task 20 ms.
 */
export class Deference {
  readonly #parts: DeferenceParts;
  /** Classes that are being left. */
  readonly #left = new Map<string, CancelTimer>();
  /** Classes that were left, and that anyone here may have now. */
  readonly #offered = new Set<string>();
  readonly #declined = new Map<string, number>();
  #peers: readonly Peers[] = [];
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: DeferenceParts) {
    this.#parts = parts;
  }

  stop(): void {
    for (const cancel of this.#left.values()) cancel();
    this.#left.clear();
  }

  /** Whether the best that waits here is to wait a little longer. */
  leaves(wake: Wake, best: WorkerRecord): boolean {
    const { taskClass } = wake;
    if (isForOne(taskClass) || this.#offered.has(taskClass.key)) return false;
    if (this.isLeft(taskClass.key)) return true;
    this.#look();
    const better = this.#better(wake, best);
    if (!better.some((worker) => this.#isWaitedFor(worker))) return false;
    const end = (): void => void this.#end(wake, better).catch(() => undefined);
    this.#left.set(taskClass.key, this.#parts.clock.after(leaveForMs, end));
    return true;
  }

  isLeft(classKey: string): boolean {
    return this.#left.has(classKey);
  }

  #better({ taskClass, strategy }: Wake, best: WorkerRecord): string[] {
    const peers = this.#peers.filter(
      ({ profile }) =>
        isBetter(strategy, taskClass.skill, profile.offer, best.offer) &&
        fitsProfile(taskClass, profile),
    );
    return peers.flatMap(({ workers }) => workers);
  }

  #isWaitedFor(worker: string): boolean {
    return (this.#declined.get(worker) ?? 0) <= this.#parts.clock.steady();
  }

  async #end(wake: Wake, better: readonly string[]): Promise<void> {
    const { key } = wake.taskClass;
    this.#left.delete(key);
    this.#offered.add(key);
    try {
      const taken = await this.#parts.offer(wake);
      const until = this.#parts.clock.steady() + declinedForMs;
      if (taken > 0) for (const worker of better) this.#declined.set(worker, until);
    } finally {
      this.#offered.delete(key);
    }
  }

  /** Looks who is idle elsewhere; the answer serves the next task. */
  #look(): void {
    const now = this.#parts.clock.steady();
    if (now - this.#lookedAt < lookEveryMs) return;
    this.#lookedAt = now;
    for (const [worker, until] of this.#declined) if (until <= now) this.#declined.delete(worker);
    this.#parts.loads().then(
      (loads) => {
        this.#peers = this.#idle(loads);
      },
      () => {
        this.#peers = [];
      },
    );
  }

  #idle(loads: ReadonlyMap<string, number>): Peers[] {
    const idle = new Map<Profile, string[]>();
    for (const { id, offer, slots } of this.#parts.elsewhere()) {
      if ((loads.get(id) ?? 0) >= (slots ?? 1)) continue;
      const profile = this.#parts.profiles.of(offer);
      const workers = idle.get(profile) ?? [];
      idle.set(profile, workers);
      workers.push(id);
    }
    return [...idle].map(([profile, workers]) => ({ profile, workers }));
  }
}
