import type { Task } from '../core/job.ts';
import type { WorkerRecord } from '../core/worker.ts';

/** A current attempt as this instance knows it. */
export interface HeldTask {
  task: Task;
  /** Steady instant of the hand-out. */
  readonly since: number;
  /** Heartbeats in a row that came after the hand-out and did not name it. */
  misses: number;
  /** Steady instant of the first of these. */
  missingSince: number;
}

/**
 * Which worker holds which attempts. A cache of the store's truth for what this instance handed out
 * or read: it decides nothing by itself, it only saves reads and counts misses.
 */
export class HeldAttempts {
  readonly #byAttempt = new Map<string, HeldTask>();
  readonly #byWorker = new Map<string, Set<string>>();
  readonly #cancelled = new Map<string, Set<string>>();

  add(task: Task, steadyNow: number): void {
    const { attempt } = task;
    if (attempt === null) return;
    const held = this.#byWorker.get(attempt.worker) ?? new Set<string>();
    this.#byWorker.set(attempt.worker, held.add(attempt.id));
    this.#byAttempt.set(attempt.id, { task, since: steadyNow, misses: 0, missingSince: 0 });
  }

  get(attempt: string): HeldTask | undefined {
    return this.#byAttempt.get(attempt);
  }

  isHeldBy(attempt: string, worker: string): boolean {
    return this.#byAttempt.get(attempt)?.task.attempt?.worker === worker;
  }

  remove(attempt: string): void {
    const worker = this.#byAttempt.get(attempt)?.task.attempt?.worker;
    this.#byAttempt.delete(attempt);
    if (worker === undefined) return;
    const held = this.#byWorker.get(worker);
    held?.delete(attempt);
    if (held?.size === 0) this.#byWorker.delete(worker);
  }

  /** In order of hand-out. */
  of(worker: string): HeldTask[] {
    const held: HeldTask[] = [];
    for (const attempt of this.#byWorker.get(worker) ?? []) {
      const task = this.#byAttempt.get(attempt);
      if (task !== undefined) held.push(task);
    }
    return held;
  }

  /** Ids, in order of hand-out. */
  idsOf(worker: string): readonly string[] {
    return [...(this.#byWorker.get(worker) ?? [])];
  }

  load(worker: string): number {
    return this.#byWorker.get(worker)?.size ?? 0;
  }

  suspects(worker: string): number {
    let count = 0;
    for (const { task } of this.of(worker)) if (task.lostRuns > 0) count += 1;
    return count;
  }

  forgetWorker(worker: string): void {
    for (const attempt of this.#byWorker.get(worker) ?? []) this.#byAttempt.delete(attempt);
    this.#byWorker.delete(worker);
    this.#cancelled.delete(worker);
  }

  /** To be told to the worker with its next heartbeat. */
  cancel(worker: string, attempt: string): void {
    this.remove(attempt);
    const cancelled = this.#cancelled.get(worker) ?? new Set<string>();
    this.#cancelled.set(worker, cancelled.add(attempt));
  }

  /** The worker reported on it, so it need not be told any more. */
  onReported(worker: string, attempt: string): void {
    this.#cancelled.get(worker)?.delete(attempt);
  }

  /** Every heartbeat repeats what the worker still claims to hold: an answer may get lost. */
  cancelledAmong(worker: string, claimed: readonly string[] | undefined): string[] {
    const cancelled = this.#cancelled.get(worker);
    if (cancelled === undefined) return [];
    if (claimed === undefined) return [...cancelled];
    const still = claimed.filter((attempt) => cancelled.has(attempt));
    if (still.length === 0) this.#cancelled.delete(worker);
    else this.#cancelled.set(worker, new Set(still));
    return still;
  }
}

/**
 * Whether an attempt can have begun: a worker works through its tasks in the order of their
 * hand-out, so only the first `slots` of those it holds can have (S-25). A task behind them was
 * prefetched and is not blamed for the worker's death.
 */
export function mayHaveBegun(
  held: readonly Task[],
  index: number,
  worker: WorkerRecord | null,
): boolean {
  const slots = worker?.slots ?? null;
  return slots === null || index < slots || held[index]?.status === 'RUNNING';
}
