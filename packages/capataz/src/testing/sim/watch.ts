import type { Also, Change, TaskChange } from '../../core/change.ts';
import { isFinal } from '../../core/status.ts';
import type { Work, WorkOutcome } from '../../store/contract.ts';

/** Ends of an attempt that are not the worker's own word. */
const unreported: ReadonlySet<string> = new Set(['lost', 'not_delivered']);

/** Nothing but a deadline that rang, which the store knows by its name and instant. */
function isOnlyFired({ fired: _, ...others }: Also): boolean {
  return Object.values(others).every((part) => (Array.isArray(part) ? part.length === 0 : !part));
}

/**
 * Looks at every commit as it is applied and keeps its own books, from which it knows at any moment
 * what must be true. It shares no code with the stores.
 */
export class Watch {
  readonly violations: string[] = [];
  /** Attempts whose report, or hand-back, has been committed as their end. */
  readonly reported = new Set<string>();
  readonly #versions = new Map<string, number>();
  readonly #final = new Map<string, string>();
  /** Task → its current attempt. */
  readonly #current = new Map<string, string>();
  readonly #tasksOf = new Map<string, Set<string>>();

  onCommitted(work: Work, outcome: WorkOutcome): void {
    for (const [index, { change }] of (work.changes ?? []).entries()) {
      const result = outcome.changes[index];
      if (result?.type !== 'done') continue;
      const { job } = result;
      const version = this.#versions.get(job.id) ?? 0;
      // Beside the job its tasks move, each fenced by its own attempt, or by its own deadline.
      const isFenced =
        change.scope === 'tasks' && (change.also === null || isOnlyFired(change.also));
      if (!isFenced && change.job.version !== version) {
        this.#violate(
          `job ${job.id}: decided on version ${change.job.version}, stored on ${version}`,
        );
      }
      this.#versions.set(job.id, job.version);
      const before = this.#final.get(job.id);
      if (before !== undefined)
        this.#violate(`job ${job.id} was ${before} and became ${job.status}`);
      this.#onChildren(change);
      for (const task of change.tasks) this.#onTask(job.id, task);
      for (const { type, attempt, reason } of change.history) {
        const isEnd = type === 'task_finished' || type === 'task_failed';
        if (isEnd && attempt !== undefined && !unreported.has(reason ?? ''))
          this.reported.add(attempt);
      }
      if (!isFinal(job.status)) continue;
      this.#final.set(job.id, job.status);
      this.#endAll(job.id);
    }
    for (const { tasks } of outcome.claims) {
      for (const task of tasks) this.#onAssigned(task.jobId, task.id, task.attempt?.id ?? '');
    }
  }

  #onChildren({ also }: Change): void {
    for (const child of also?.children ?? []) {
      this.#versions.set(child.job.id, 1);
      this.#onChildren(child);
    }
  }

  #onTask(jobId: string, task: TaskChange): void {
    if (task.type === 'cancel_all') return this.#endAll(jobId);
    if (task.type === 'start') return;
    const current = this.#current.get(task.taskId) ?? null;
    if (task.attempt !== current) {
      this.#violate(
        `task ${task.taskId}: ${task.type} of attempt ${task.attempt}, but ${current} is current`,
      );
    }
    this.#end(task.taskId);
  }

  #onAssigned(jobId: string, taskId: string, attempt: string): void {
    const current = this.#current.get(taskId);
    if (current !== undefined)
      this.#violate(`task ${taskId}: ${attempt} handed out while ${current} is current`);
    if (this.#final.has(jobId))
      this.#violate(`task ${taskId} handed out though job ${jobId} has ended`);
    this.#current.set(taskId, attempt);
    const tasks = this.#tasksOf.get(jobId) ?? new Set<string>();
    this.#tasksOf.set(jobId, tasks.add(taskId));
  }

  #endAll(jobId: string): void {
    for (const taskId of this.#tasksOf.get(jobId) ?? []) this.#end(taskId);
  }

  #end(taskId: string): void {
    this.#current.delete(taskId);
  }

  #violate(problem: string): void {
    this.violations.push(problem);
  }
}
