import type { Change } from '../packages/capataz/src/core/change.ts';
import type { HistoryEntry } from '../packages/capataz/src/core/history.ts';
import type { Job, Task, TaskSpec } from '../packages/capataz/src/core/job.ts';
import { taskClass } from '../packages/capataz/src/core/requirements.ts';
import { defaultRetry } from '../packages/capataz/src/core/retry.ts';
import { systemRandom } from '../packages/capataz/src/std/random.ts';
import type { ChangeRequest, Claim, Store } from '../packages/capataz/src/store/contract.ts';

/** Work for a store, as the engine makes it of jobs of one or several steps that do nothing. */

const seededAtOnce = 1_000;
const worker = 'bench';
const { id: newId } = systemRandom;

/** Jobs that queue a task each. @returns them as the engine remembers them. */
export async function seed(store: Store, count: number, priority = 0): Promise<Map<string, Job>> {
  const known = new Map<string, Job>();
  for (let left = count; left > 0; left -= seededAtOnce) {
    const some = Array.from({ length: Math.min(left, seededAtOnce) }, () => starting(priority));
    for (const change of (await store.commit({ changes: some })).changes) {
      if (change.type === 'done') known.set(change.job.id, change.job);
    }
  }
  return known;
}

export interface CrewOptions {
  /** Tasks that one claim asks for. */
  readonly batch: number;
  readonly steps: number;
  /** The crew is done with so many. */
  readonly jobs: number;
  readonly startsAnother: boolean;
  readonly known: Map<string, Job>;
}

/** Workers who report what they have done with the same commit by which they ask for more. */
export class Crew {
  readonly #store: Store;
  readonly #options: CrewOptions;
  #ended = 0;

  constructor(store: Store, options: CrewOptions) {
    this.#store = store;
    this.#options = options;
  }

  async work(): Promise<void> {
    let held: readonly Task[] = [];
    while (this.#ended < this.#options.jobs || held.length > 0) held = await this.#turn(held);
  }

  async #turn(held: readonly Task[]): Promise<readonly Task[]> {
    const { batch, startsAnother } = this.#options;
    const jobs = await Promise.all(held.map(({ jobId }) => this.#job(jobId)));
    const steps = held.flatMap((task, index) => this.#step(jobs[index] as Job, task));
    const others = startsAnother ? steps.map(() => starting(0)) : [];
    const isEnough = this.#ended + steps.length >= this.#options.jobs;
    const claims = isEnough ? [] : [claiming(batch)];
    const outcome = await this.#store.commit({ changes: [...steps, ...others], claims });
    for (const change of outcome.changes) {
      if (change.type !== 'done') throw new Error(`a change was answered with ${change.type}`);
      const { job } = change;
      if (job.status !== 'finished') this.#options.known.set(job.id, job);
      else {
        this.#options.known.delete(job.id);
        this.#ended += 1;
      }
    }
    return outcome.claims[0]?.tasks ?? [];
  }

  async #job(id: string): Promise<Job> {
    const known = this.#options.known.get(id) ?? (await this.#store.job(id));
    if (known === null) throw new Error(`there is no job ${id}`);
    return known;
  }

  #step(job: Job, task: Task): ChangeRequest {
    const isLast = job.entry === this.#options.steps;
    return { change: isLast ? ending(job, task) : goingOn(job, task) };
  }
}

function claiming(max: number): Claim {
  return {
    worker,
    incarnation: 'bench-1',
    lanes: [[taskClass(specOf(0, '')).key]],
    max,
    maxSuspects: 1,
    attemptIds: Array.from({ length: max }, newId),
    choice: { strategy: 'default', candidates: 1, warm: true, cost: null },
  };
}

function starting(priority: number): ChangeRequest {
  const job = newJob();
  const task = { taskId: newId(), spec: specOf(priority, job.id) };
  const change = changed({ ...job, ...waitingFor(task.taskId) }, [
    { type: 'job_created', state: 'work', details: { blueprint: 'one-step', version: 1 } },
    { type: 'state_entered', state: 'work' },
    dispatched(task.taskId),
  ]);
  return {
    change: { ...change, tasks: [{ type: 'start', ...task, timers: [] }] },
    idempotency: { key: newId(), bodyHash: 'a4e96a0482a447aaf4908e0551df7d63c7c48eb8b56eb5e8' },
  };
}

function ending(job: Job, task: Task): Change {
  const result = { started: 1_795_857_992_136.1372 };
  const ended = { ...job, status: 'finished', state: 'done', wait: null, data: result } as const;
  const change = changed({ ...ended, result, hops: 1 }, [
    ...finished(task),
    { type: 'state_entered', state: 'done', from: job.state },
    { type: 'job_finished', state: 'done' },
  ]);
  return { ...change, tasks: [endOf(task)] };
}

function goingOn(job: Job, task: Task): Change {
  const next = { taskId: newId(), spec: specOf(job.options.priority, job.id) };
  const entry = job.entry + 1;
  const change = changed({ ...job, state: `state-${entry}`, entry, ...waitingFor(next.taskId) }, [
    ...finished(task),
    { type: 'state_entered', state: `state-${entry}`, from: job.state },
    dispatched(next.taskId),
  ]);
  return { ...change, tasks: [endOf(task), { type: 'start', ...next, timers: [] }] };
}

function endOf({ id, attempt, status }: Task): Change['tasks'][number] {
  const from = status;
  return { type: 'end', taskId: id, attempt: attempt?.id ?? null, from, status: 'SUCCEEDED' };
}

function waitingFor(taskId: string): Pick<Job, 'status' | 'wait'> {
  return { status: 'waiting_for_worker', wait: { type: 'task', taskId, on: { success: 'done' } } };
}

function dispatched(task: string): HistoryEntry {
  const details = { skill: 'noop', priority: 0 };
  return { type: 'task_dispatched', state: 'work', task, taskTo: 'PENDING', details };
}

function finished({ id: task, attempt }: Task): HistoryEntry[] {
  const common = { task, attempt: attempt?.id ?? '', worker };
  return [
    { ...common, type: 'task_started', taskFrom: 'ASSIGNED', taskTo: 'RUNNING' },
    {
      ...common,
      type: 'task_finished',
      taskFrom: 'RUNNING',
      taskTo: 'SUCCEEDED',
      reason: 'success',
    },
  ];
}

function changed(job: Job, history: readonly HistoryEntry[]): Change {
  const nothing = { leaseForMs: 'keep', reservations: [], also: null } as const;
  return { job, scope: 'job', entered: true, tasks: [], timers: [], history, ...nothing };
}

function specOf(priority: number, job: string): TaskSpec {
  return {
    client: 'dev',
    skill: 'noop',
    params: { job },
    requirements: {},
    strategy: 'default',
    maxCost: null,
    priority,
    dispatchTimeoutMs: null,
    resultTimeoutMs: null,
    executionLimitMs: 300_000,
    retry: defaultRetry,
    metadata: null,
    correlationId: newId(),
    trace: null,
  };
}

function newJob(): Job {
  return {
    id: newId(),
    version: 0,
    blueprint: 'one-step',
    blueprintVersion: 1,
    client: 'dev',
    status: 'pending',
    state: 'work',
    entry: 1,
    hops: 0,
    emitted: 0,
    failures: 0,
    held: false,
    wait: null,
    lease: null,
    resume: null,
    input: { n: 1 },
    data: {},
    options: {
      priority: 0,
      attributes: {},
      metadata: {},
      dispatchTimeoutMs: null,
      resultTimeoutMs: null,
      concurrency: null,
    },
    correlationId: newId(),
    trace: null,
    result: null,
    error: null,
    results: null,
    answer: null,
    unread: false,
    decided: [],
    parent: null,
    createdAt: 0,
    enteredAt: 0,
    endedAt: null,
  };
}
