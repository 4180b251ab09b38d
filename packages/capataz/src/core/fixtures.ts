/** Jobs, tasks and blueprints for the tests of the core. */
import { dispatch, finish, sleep, transition } from './action.ts';
import { type Blueprint, blueprint, type StateDefinition } from './blueprint.ts';
import type { Change, Decision } from './change.ts';
import { decide } from './decide.ts';
import type { HistoryEntry } from './history.ts';
import type { ApprovalWait, EventWait, Job, Task, TaskSpec } from './job.ts';
import type { Causes } from './limbo.ts';
import { defaultRetry } from './retry.ts';
import type { CreatedSignal, DecidedSignal, RefusalReason, Signal } from './signal.ts';
import type { DecideContext, LeaseOffer } from './step.ts';

export const created: CreatedSignal = { type: 'created', startDelayMs: 0 };
export const leaseOffer: LeaseOffer = {
  lease: { token: 'lease-1', instance: 'instance-1' },
  forMs: 10_000,
};

/** A job as it is before its first commit. */
export function aJob(fields: Partial<Job> = {}): Job {
  return {
    id: 'job-1',
    version: 0,
    blueprint: 'sample',
    blueprintVersion: 1,
    client: 'client-1',
    status: 'pending',
    state: 'start',
    entry: 0,
    hops: 0,
    emitted: 0,
    failures: 0,
    held: false,
    wait: null,
    lease: null,
    resume: null,
    input: { files: ['a', 'b'] },
    data: {},
    options: {
      priority: 0,
      attributes: { region: 'north' },
      metadata: { origin: 'test' },
      dispatchTimeoutMs: null,
      resultTimeoutMs: null,
      concurrency: null,
    },
    correlationId: 'correlation-1',
    trace: null,
    result: null,
    error: null,
    results: null,
    answer: null,
    unread: false,
    decided: [],
    parent: null,
    createdAt: 1_000,
    enteredAt: 1_000,
    endedAt: null,
    ...fields,
  };
}

export function aSpec(fields: Partial<TaskSpec> = {}): TaskSpec {
  return {
    client: 'client-1',
    skill: 'echo',
    params: {},
    requirements: {},
    strategy: 'default',
    maxCost: null,
    priority: 0,
    dispatchTimeoutMs: null,
    resultTimeoutMs: null,
    executionLimitMs: 300_000,
    retry: { ...defaultRetry, jitter: 0 },
    metadata: null,
    correlationId: 'correlation-1',
    trace: null,
    ...fields,
  };
}

/** A task that waits in the queue. */
export function aTask(fields: Partial<Task> = {}): Task {
  return {
    id: 'task-1',
    jobId: 'job-1',
    spec: aSpec(),
    status: 'PENDING',
    attempts: 0,
    attempt: null,
    failures: 0,
    lostRuns: 0,
    resultAt: null,
    ...fields,
  };
}

/** A task in a worker's hands. */
export function aHeldTask(fields: Partial<Task> = {}): Task {
  return aTask({
    status: 'ASSIGNED',
    attempts: 1,
    attempt: {
      id: 'attempt-1',
      number: 1,
      worker: 'worker-1',
      incarnation: 'incarnation-1',
      assignedAt: 2_000,
    },
    ...fields,
  });
}

/** The same as a branch of a fan-out. */
export function aBranch(fields: Partial<Task> = {}): Task {
  const spec = aSpec({ branch: { index: 0, on: { success: 'done' } } });
  return aHeldTask({ spec, ...fields });
}

/** A job that waits for `aTask`, in the state `work` of `sample`. */
export function aWaitingJob(fields: Partial<Job> = {}): Job {
  return aJob({
    version: 3,
    status: 'waiting_for_worker',
    state: 'work',
    entry: 2,
    wait: { type: 'task', taskId: 'task-1', on: { success: 'done', partial: 'rest' } },
    ...fields,
  });
}

/** Shows content, so that a decision must name its hash. */
export const approvalWait: ApprovalWait = {
  type: 'approval',
  id: 'wait-1',
  message: 'shall it?',
  show: { plan: 1 },
  hash: 'hash-1',
  revision: 'plan-1',
  escalated: false,
  on: { approved: 'done', rejected: 'think', timeout: 'late' },
  signals: { withdraw: 'late' },
};

export const approved: Omit<DecidedSignal, 'type'> = {
  decision: 'approved',
  wait: 'wait-1',
  hash: 'hash-1',
  revision: null,
  actor: 'ana',
  comment: null,
  data: null,
};

export const eventWait: EventWait = {
  type: 'event',
  on: { timeout: 'late' },
  signals: { go: 'done' },
  silence: { afterMs: 60_000, resetBy: 'mapped' },
  poll: null,
  subscription: null,
};

/** Has a state of every kind: a `handle` that goes on, one that dispatches, a `run`, a sleep, ends. */
export const sample = blueprint({
  name: 'sample',
  version: 1,
  early: ['go'],
  states: {
    start: { start: true, to: ['work'], handle: () => transition('work') },
    work: {
      to: ['done', 'rest', 'think', 'late'],
      handle: () => dispatch('echo', {}, { on: { success: 'done', partial: 'rest' } }),
    },
    think: { to: ['done'], run: async () => transition('done') },
    rest: { to: ['think'], handle: () => sleep('1h', 'think') },
    late: { end: true, handle: () => finish('late') },
    done: { end: true },
  },
});

/** A blueprint whose start state is `start`, of states whose names the compiler does not check. */
export function aBlueprint(
  states: Readonly<Record<string, StateDefinition<string, never>>>,
): Blueprint {
  return blueprint<string, never>({ name: 'sample', version: 1, states });
}

export function aContext(fields: Partial<DecideContext> = {}): DecideContext {
  let ids = 0;
  return {
    now: 5_000,
    client: { name: 'client-1', plan: 'premium', params: { languages: ['en', 'de'] } },
    maxTransitions: 100,
    newId: () => {
      ids += 1;
      return `id-${ids}`;
    },
    chance: 0.5,
    lease: null,
    full: new Map(),
    liveForMs: () => Number.POSITIVE_INFINITY,
    hash: (text) => `hash of ${text}`,
    isBlackout: (name) => name === 'night',
    prepareChild: (_name, input) => ({ blueprint: sample, input }),
    ...fields,
  };
}

/** Decides a signal that must change the job. @throws Error when it is refused. */
export function change(
  job: Job,
  signal: Signal,
  machine: Blueprint | null = sample,
  context: Partial<DecideContext> = {},
): Change {
  const decision = decide(job, signal, machine, aContext(context));
  if (decision.type === 'change') return decision;
  throw new Error(`${signal.type} was refused: ${decision.reason}`);
}

/** Decides a signal that must be refused. @throws Error when it changes the job. */
export function refusal(
  job: Job,
  signal: Signal,
  machine: Blueprint | null = sample,
): RefusalReason {
  const decision: Decision = decide(job, signal, machine, aContext());
  if (decision.type === 'refusal') return decision.reason;
  throw new Error(`${signal.type} led to ${decision.job.status}, and was to be refused`);
}

/** Starts a job on a blueprint of these states. */
export function startOn(
  states: Parameters<typeof aBlueprint>[0],
  fields: Partial<Job> = {},
  context: Partial<DecideContext> = {},
): Change {
  return change(aJob(fields), created, aBlueprint(states), context);
}

export function typesOf(history: readonly HistoryEntry[]): string[] {
  return history.map(({ type }) => type);
}

/** The states that were entered, in order. */
export function statesOf(history: readonly HistoryEntry[]): string[] {
  return history.filter(({ type }) => type === 'state_entered').map(({ state }) => state ?? '');
}

export function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !(value instanceof Map)) {
    for (const member of Object.values(value)) deepFrozen(member);
    Object.freeze(value);
  }
  return value;
}

/** What a store would keep after the change, as the no-limbo rule sees it. */
export function causesAfter(decided: Change, before: { readonly task: Task | null }): Causes {
  const { job } = decided;
  const tasks = new Map(before.task === null ? [] : [[before.task.id, before.task]]);
  const timers: { taskId: string | null; name: Causes['timers'][number]['name'] }[] = [];
  if (decided.timers !== 'keep') {
    for (const { name } of decided.timers) timers.push({ taskId: null, name });
  } else if (job.wait?.type === 'timer') {
    timers.push({ taskId: null, name: 'wake' });
  } else if (job.wait?.type === 'event') {
    timers.push({ taskId: null, name: 'silence' });
  }
  for (const step of decided.tasks) {
    if (step.type === 'cancel_all') tasks.clear();
    else if (step.type === 'end') tasks.delete(step.taskId);
    else if (step.type === 'collect') {
      tasks.delete(step.taskId);
      timers.push({ taskId: null, name: 'inbox' });
    } else {
      const spec = step.type === 'start' ? step.spec : tasks.get(step.taskId)?.spec;
      tasks.set(step.taskId, aTask({ id: step.taskId, ...(spec === undefined ? {} : { spec }) }));
      for (const { name } of step.timers) timers.push({ taskId: step.taskId, name });
    }
  }
  const isDelayed = (taskId: string): boolean =>
    timers.some((timer) => timer.taskId === taskId && timer.name === 'ready');
  const left = [...tasks.values()];
  return {
    job,
    tasks: left,
    runnable:
      ['pending', 'running'].includes(job.status) &&
      job.wait === null &&
      job.lease === null &&
      !job.held,
    leaseEndsAt: job.lease === null ? null : 9_000,
    timers,
    queued: left
      .filter(({ id, status }) => status === 'PENDING' && !isDelayed(id) && !job.held)
      .map(({ id }) => id),
    watched: left.filter(({ attempt }) => attempt !== null).map(({ id }) => id),
    childIsOpen: true,
  };
}
