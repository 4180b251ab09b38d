import type { ResultBody, TaskBody } from '../protocol/worker-api.ts';
import type { Clock } from '../std/clock.ts';
import { PermanentError, reportOfError, reportOfValue } from './outcome.ts';
import { type Handler, HeldTask, type TaskSurroundings } from './task.ts';

export interface WorkloadOptions extends TaskSurroundings {
  readonly skills: ReadonlyMap<string, Handler>;
  /** Handlers that run at once. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** A report to be sent; called once for each task that is not dropped. */
  readonly onReport: (report: ResultBody, task: HeldTask) => void;
}

/**
 * The tasks that a worker holds.
 *
 * - *queued*: held and not begun. Begins, in the order of hand-out, when one of `concurrency` slots
 *   is free; the server relies on this order to know what can have begun.
 * - *running*: its handler was called. Ends with the handler, whose report goes out, or when the
 *   drain time is over: then it is handed back and whatever its handler does counts for nothing.
 * - *ended*: forgotten here; its report lives in the reporter until it is answered.
 *
 * Once closed it begins nothing: what is queued or still arrives is handed back.
 */
export class Workload {
  readonly #options: WorkloadOptions;
  readonly #held = new Map<string, HeldTask>();
  /** Holds ended ones, too, until their turn comes. */
  #queue: HeldTask[] = [];
  #head = 0;
  #running = 0;
  #isBeginning = false;
  #isClosed = false;

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  /** Queued and running. */
  get size(): number {
    return this.#held.size;
  }

  get running(): number {
    return this.#running;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  attempts(phase: 'queued' | 'running'): string[] {
    const attempts: string[] = [];
    for (const [attempt, task] of this.#held) if (task.phase === phase) attempts.push(attempt);
    return attempts;
  }

  /** Takes tasks in and begins what there are slots for, before it returns. */
  accept(bodies: readonly TaskBody[]): void {
    const steadyNow = this.#options.clock.steady();
    for (const body of bodies) {
      if (this.#held.has(body.task_id)) continue;
      const task = new HeldTask(body, this.#options, steadyNow);
      if (this.#isClosed) this.#handBack(task, 'not_started');
      else {
        this.#held.set(task.attempt, task);
        this.#queue.push(task);
      }
    }
    this.#beginNext();
  }

  /** The server gave these attempts up. What has not begun is dropped, what runs is told. */
  cancel(attempts: readonly string[]): void {
    for (const attempt of attempts) {
      const task = this.#held.get(attempt);
      if (task?.phase === 'queued') this.#end(task);
      task?.stop('cancelled');
    }
  }

  /** Hands back what has not begun; nothing begins any more. */
  close(): void {
    this.#isClosed = true;
    for (const task of this.#held.values()) {
      if (task.phase === 'queued') this.#handBack(task, 'not_started');
    }
    this.#queue = [];
    this.#head = 0;
  }

  /** Stops what still runs and hands it back. */
  giveUp(): void {
    for (const task of this.#held.values()) {
      task.stop('drain');
      this.#handBack(task, 'started');
    }
  }

  #handBack(task: HeldTask, started: 'started' | 'not_started'): void {
    this.#end(task);
    this.#options.onReport({ ...task.identity, handed_back: started }, task);
  }

  #beginNext(): void {
    // A handler that throws at once comes by here from within the loop, which goes on anyway.
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    while (this.#running < this.#options.concurrency) {
      const task = this.#queue[this.#head];
      if (task === undefined) break;
      this.#head += 1;
      if (task.phase === 'queued') this.#begin(task);
    }
    this.#isBeginning = false;
    // Compacted now and then, so that taking from the front costs the same however long it is.
    if (this.#head > 1_000 || this.#head === this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }

  #begin(task: HeldTask): void {
    const { clock, skills } = this.#options;
    const leftMs = task.endsAt === null ? null : task.endsAt - clock.steady();
    task.phase = 'running';
    this.#running += 1;
    if (leftMs !== null) {
      if (leftMs <= 0) {
        task.stop('deadline');
        return this.#finish(task, task.errorReport(undefined));
      }
      task.cancelDeadline = clock.after(leftMs, () => task.stop('deadline'));
    }
    const handler = skills.get(task.skill);
    if (handler === undefined) {
      const error = new PermanentError(`this worker has no skill "${task.skill}"`);
      return this.#finish(task, reportOfError(task.identity, error));
    }
    void this.#run(task, handler);
  }

  async #run(task: HeldTask, handler: Handler): Promise<void> {
    let report: ResultBody;
    let thrown: unknown;
    try {
      const returned = await handler(task);
      report = reportOfValue(task.identity, returned);
    } catch (error) {
      thrown = error;
      report = task.errorReport(error);
    }
    if (task.hasFiles) await this.#removeCopies(task);
    if (task.phase === 'ended') return;
    this.#warn(task, report, thrown);
    this.#finish(task, report);
    this.#beginNext();
  }

  /** Before the slot is free: who has it next may need the room on the disk. */
  async #removeCopies(task: HeldTask): Promise<void> {
    await task.removeCopies().catch((error: unknown) => {
      const about = { ...task.about, error };
      this.#options.log.warn('local copies of files could not be removed', about);
    });
  }

  /** The author of a handler looks here first. What was cancelled fails as it should. */
  #warn(task: HeldTask, { error }: ResultBody, thrown: unknown): void {
    if (error === undefined) return;
    const { skill, attempt, about } = task;
    this.#options.log.warn(`skill ${skill} failed (attempt ${attempt}): ${error.message}`, {
      ...about,
      ...(thrown === undefined ? {} : { error: thrown }),
    });
  }

  #finish(task: HeldTask, report: ResultBody): void {
    this.#end(task);
    this.#options.onReport(report, task);
  }

  #end(task: HeldTask): void {
    if (task.phase === 'running') this.#running -= 1;
    task.phase = 'ended';
    task.cancelDeadline?.();
    this.#held.delete(task.attempt);
  }
}
