import type { Task } from '../core/job.ts';
import type { ReturnCause } from '../core/signal.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type { Clock } from '../std/clock.ts';
import type { StartMark, Store } from '../store/contract.ts';
import { type HeldAttempts, type HeldTask, mayHaveBegun } from './attempts.ts';
import type { Circuits } from './circuits.ts';
import type { Committer } from './committer.ts';
import type { Address, Decider } from './decider.ts';
import type { Presence } from './presence.ts';

interface HoldingsParts {
  readonly store: Store;
  readonly decider: Decider;
  readonly committer: Committer;
  readonly held: HeldAttempts;
  readonly clock: Clock;
  readonly circuits: Pick<Circuits, 'onEndedElsewhere'>;
}

interface Returning {
  readonly task: Task;
  readonly cause: ReturnCause;
}

/** What workers hold: whether it has begun, and that it comes back when they hold it no longer. */
export class Holdings {
  readonly #parts: HoldingsParts;

  constructor(parts: HoldingsParts) {
    this.#parts = parts;
  }

  /** Reads what the worker holds by the store. */
  async read(worker: string): Promise<void> {
    const { store, held, clock } = this.#parts;
    for (const task of await store.heldBy(worker)) held.add(task, clock.steady());
  }

  /** Whether the attempt can have begun; where nobody knows who holds it, it can. */
  mayHaveBegun(attempt: string, recordOf: (worker: string) => WorkerRecord | null): boolean {
    const { held } = this.#parts;
    const worker = held.get(attempt)?.task.attempt?.worker;
    if (worker === undefined) return true;
    const tasks = held.of(worker).map(({ task }) => task);
    const index = tasks.findIndex((task) => task.attempt?.id === attempt);
    return mayHaveBegun(tasks, index, recordOf(worker));
  }

  /** What the worker says it holds against what is known. @returns attempts that are not its own. */
  async compare(
    presence: Presence,
    current: readonly string[],
    prefetched: readonly string[],
  ): Promise<string[]> {
    const { held, store } = this.#parts;
    const { record } = presence;
    const isForeign = (attempt: string): boolean => !held.isHeldBy(attempt, record.id);
    const named = [...current, ...prefetched];
    // Where there are others, they may have handed out to it, and ended what it held.
    if (store.capabilities.shared || named.some(isForeign)) await this.recount(record.id);
    const all = held.of(record.id);
    const { begun, lost } = presence.judge(all, new Set(current), new Set(prefetched));
    await this.begin(begun);
    const tasks = all.map(({ task }) => task);
    await this.giveBack(
      lost.map((entry) => ({ task: entry.task, cause: lossOf(tasks, all.indexOf(entry), record) })),
    );
    return named.filter(isForeign);
  }

  /** What it holds by the store, but for what is handed out meanwhile. */
  async recount(worker: string): Promise<void> {
    const { held, store, clock, circuits } = this.#parts;
    const before = held.of(worker);
    const stored = await store.heldBy(worker);
    const current = new Set(stored.map(({ attempt }) => attempt?.id));
    for (const { task } of before) {
      const attempt = task.attempt?.id ?? '';
      if (current.has(attempt)) continue;
      held.remove(attempt);
      circuits.onEndedElsewhere(worker, attempt);
    }
    for (const task of stored) {
      if (!held.isHeldBy(task.attempt?.id ?? '', worker)) held.add(task, clock.steady());
    }
  }

  /** Writes the first sign of work, once an attempt (S-26). */
  async begin(entries: readonly HeldTask[]): Promise<void> {
    const first = entries.filter(({ task }) => task.status !== 'RUNNING');
    if (first.length === 0) return;
    await this.#parts.committer.commit({ starts: first.map(({ task }) => startMark(task)) });
    for (const entry of first) entry.task = { ...entry.task, status: 'RUNNING' };
  }

  /** The worker's process is gone, as far as anybody can tell. */
  async lose(worker: string, record: WorkerRecord | null): Promise<void> {
    const tasks = await this.#parts.store.heldBy(worker);
    await this.giveBack(
      tasks.map((task, index) => ({ task, cause: lossOf(tasks, index, record) })),
    );
  }

  async giveBack(items: readonly Returning[]): Promise<void> {
    if (items.length === 0) return;
    await this.#parts.decider.all(items.map(({ task, cause }) => returnAddress(task, cause)));
  }
}

function lossOf(held: readonly Task[], index: number, worker: WorkerRecord | null): ReturnCause {
  return mayHaveBegun(held, index, worker) ? 'lost' : 'not_started';
}

function startMark({ jobId, id, attempt }: Task): StartMark {
  return { jobId, taskId: id, attempt: attempt?.id ?? '' };
}

function returnAddress(task: Task, cause: ReturnCause): Address {
  const attempt = task.attempt?.id ?? '';
  return {
    jobId: task.jobId,
    about: { attempt },
    signal: (current) => ({ type: 'returned', task: current, attempt, cause }),
  };
}
