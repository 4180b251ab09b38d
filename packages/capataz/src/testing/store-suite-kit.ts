import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Also, Change, Post, TaskChange } from '../core/change.ts';
import type { BranchResult, Job, Task, TaskSpec, Wait } from '../core/job.ts';
import { taskClass } from '../core/requirements.ts';
import { defaultRetry } from '../core/retry.ts';
import type { InboxItem, Timer } from '../core/signal.ts';
import type { FinalStatus } from '../core/status.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type {
  ChangeOutcome,
  ChangeRequest,
  Claim,
  ClaimOutcome,
  Store,
  Work,
} from '../store/contract.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** What the conformance suite needs of a store: an empty one, with a clock that the test moves. */
export interface StoreUnderTest {
  readonly store: Store;
  readonly clock: VirtualClock;
  /** Closes the store and opens another on the same data, as a restart does. */
  reopen(): Promise<Store>;
  /** Closes what is open and removes what was made. */
  close(): Promise<void>;
}

export type OpenStore = () => Promise<StoreUnderTest>;

export type StoreTest = (title: string, body: (sut: StoreUnderTest) => Promise<void>) => void;

/** Each test has a store of its own. */
export function storeTest(open: OpenStore): StoreTest {
  return (title, body) => {
    it(title, async () => {
      const sut = await open();
      try {
        await body(sut);
      } finally {
        await sut.close();
      }
    });
  };
}

export const second = 1_000;
export const day = 86_400_000;
export const year = 365 * day;

/** A job that was never stored. */
export function newJob(id: string, fields: Partial<Job> = {}): Job {
  return {
    id,
    version: 0,
    blueprint: 'digest',
    blueprintVersion: 1,
    client: 'dev',
    status: 'pending',
    state: 'split',
    entry: 1,
    hops: 1,
    emitted: 0,
    failures: 0,
    held: false,
    wait: null,
    lease: null,
    resume: null,
    input: { file: 'a.txt' },
    data: {},
    options: {
      priority: 0,
      attributes: {},
      metadata: {},
      dispatchTimeoutMs: null,
      resultTimeoutMs: null,
      concurrency: null,
    },
    correlationId: `c-${id}`,
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
    ...fields,
  };
}

export function changeOf(job: Job, fields: Partial<Change> = {}): Change {
  return {
    job,
    scope: 'job',
    entered: false,
    tasks: [],
    timers: 'keep',
    leaseForMs: 'keep',
    history: [{ type: 'state_entered', state: job.state }],
    reservations: [],
    also: null,
    ...fields,
  };
}

export function specOf(fields: Partial<TaskSpec> = {}): TaskSpec {
  return {
    client: 'dev',
    skill: 'count',
    params: { file: 'a.txt' },
    requirements: {},
    strategy: 'default',
    maxCost: null,
    priority: 0,
    dispatchTimeoutMs: null,
    resultTimeoutMs: null,
    executionLimitMs: 300_000,
    retry: defaultRetry,
    metadata: null,
    correlationId: 'c',
    trace: null,
    ...fields,
  };
}

export function classKey(fields: Partial<TaskSpec> = {}): string {
  return taskClass(specOf(fields)).key;
}

/** The task of job `j` is `j-task`. */
export function taskIdOf(jobId: string): string {
  return `${jobId}-task`;
}

export function waitingFor(taskId: string): Pick<Job, 'status' | 'wait'> {
  return { status: 'waiting_for_worker', wait: { type: 'task', taskId, on: { success: 'done' } } };
}

/** A new job that dispatches one task in its first commit. */
export function dispatching(
  id: string,
  spec: Partial<TaskSpec> = {},
  timers: readonly Timer[] = [],
  fields: Partial<Job> = {},
): Change {
  const taskId = taskIdOf(id);
  const client = spec.client ?? 'dev';
  return changeOf(newJob(id, { client, ...waitingFor(taskId), ...fields }), {
    entered: true,
    tasks: [{ type: 'start', taskId, spec: specOf({ ...spec, client }), timers }],
    timers: [],
  });
}

/** Ends a job; `task` names the attempt that ends with it. */
export function ending(
  job: Job,
  task: Task | null = null,
  status: FinalStatus = 'finished',
): Change {
  const tasks: TaskChange[] =
    task === null
      ? []
      : [
          {
            type: 'end',
            taskId: task.id,
            attempt: task.attempt?.id ?? null,
            from: task.status,
            status: 'SUCCEEDED',
          },
        ];
  return changeOf(
    {
      ...job,
      status,
      state: 'done',
      wait: null,
      lease: null,
      result: status === 'finished' ? { ok: true } : null,
    },
    {
      entered: true,
      tasks,
      timers: [],
      history: [{ type: 'task_finished' }, { type: `job_${status}`, state: 'done' }],
    },
  );
}

export function requeueing(
  job: Job,
  task: Task,
  timers: readonly Timer[] = [],
  counts: { failures?: number; lostRuns?: number } = {},
): Change {
  const { failures = task.failures, lostRuns = task.lostRuns } = counts;
  return changeOf(job, {
    tasks: [
      {
        type: 'requeue',
        taskId: task.id,
        attempt: task.attempt?.id ?? null,
        from: task.status,
        failures,
        lostRuns,
        timers,
      },
    ],
    history: [{ type: 'task_requeued', task: task.id }],
  });
}

export function sleeping(job: Job, afterMs: number): Change {
  return changeOf(
    { ...job, status: 'waiting_for_timer', wait: { type: 'timer', to: 'merge' }, lease: null },
    { timers: [{ name: 'wake', afterMs }] },
  );
}

export function leasing(job: Job, token: string, forMs: number): Change {
  return changeOf(
    { ...job, status: 'running', lease: { token, instance: 'one' } },
    { leaseForMs: forMs },
  );
}

let attempts = 0;

export function claimOf(fields: Partial<Claim> = {}): Claim {
  attempts += 1;
  const max = fields.max ?? 1;
  return {
    worker: 'w1',
    incarnation: 'i1',
    lanes: [[classKey()]],
    max,
    maxSuspects: 1,
    attemptIds: Array.from({ length: max }, (_, index) => `attempt-${attempts}-${index}`),
    choice: { strategy: 'default', candidates: 1, warm: false, cost: null },
    ...fields,
  };
}

/** Commits changes together and gives their outcomes. */
export async function commit(
  store: Store,
  ...changes: readonly (Change | ChangeRequest)[]
): Promise<readonly ChangeOutcome[]> {
  const requests = changes.map((change) => ('change' in change ? change : { change }));
  return (await store.commit({ changes: requests })).changes;
}

export async function types(
  store: Store,
  ...changes: readonly (Change | ChangeRequest)[]
): Promise<string[]> {
  return (await commit(store, ...changes)).map(({ type }) => type);
}

/** Commits one change that must be stored. @returns the job. */
export async function store1(store: Store, change: Change | ChangeRequest): Promise<Job> {
  return doneJob((await commit(store, change))[0]);
}

export function doneJob(outcome: ChangeOutcome | undefined): Job {
  assert.equal(outcome?.type, 'done');
  return (outcome as ChangeOutcome & { type: 'done' }).job;
}

export async function claim(
  store: Store,
  fields: Partial<Claim> = {},
  work: Work = {},
): Promise<ClaimOutcome> {
  const { claims } = await store.commit({ ...work, claims: [claimOf(fields)] });
  return claims[0] ?? { tasks: [], drained: [] };
}

export async function claimedIds(store: Store, fields: Partial<Claim> = {}): Promise<string[]> {
  return (await claim(store, fields)).tasks.map(({ jobId }) => jobId);
}

/** Takes the one queued task of the usual class. */
export async function claim1(store: Store, fields: Partial<Claim> = {}): Promise<Task> {
  const [task] = (await claim(store, fields)).tasks;
  assert.ok(task !== undefined, 'nothing was queued');
  return task;
}

export async function read(store: Store, id: string): Promise<Job> {
  const job = await store.job(id);
  assert.ok(job !== null, `there is no job ${id}`);
  return job;
}

export async function queuedIds(store: Store): Promise<string[]> {
  const causes = await store.causes({ after: '', limit: 1_000 });
  return causes.flatMap(({ queued }) => queued);
}

export function workerOf(id: string, fields: Partial<WorkerRecord> = {}): WorkerRecord {
  return {
    id,
    type: 'test',
    incarnation: `${id}-1`,
    bootId: null,
    status: 'READY',
    offer: {
      worker: id,
      skills: ['count'],
      hotSkills: [],
      devices: [],
      properties: {},
      artifacts: [],
      software: {},
      extra: {},
      costPerSkill: {},
    },
    slots: 1,
    batch: false,
    heartbeatMs: 3_000,
    hostname: null,
    registeredAt: 0,
    ...fields,
  };
}

export function alsoOf(fields: Partial<Also>): Also {
  return {
    rearm: [],
    disarm: [],
    releases: [],
    settles: [],
    awaits: null,
    fired: null,
    signalId: null,
    posts: [],
    takes: [],
    looks: false,
    keys: [],
    emits: [],
    children: [],
    ...fields,
  };
}

/** The branches of job `j` are `j-0`, `j-1` and so on. */
export function fanningOut(job: Job, count: number, spec: Partial<TaskSpec> = {}): Change {
  const wait: Wait = { type: 'parallel', to: 'merge', count };
  const tasks = Array.from({ length: count }, (_, index): TaskChange => {
    const branch = { index, on: { success: 'merge' } };
    const taskId = `${job.id}-${index}`;
    return { type: 'start', taskId, spec: specOf({ ...spec, branch }), timers: [] };
  });
  return changeOf(
    { ...job, status: 'waiting_for_parallel', wait, lease: null },
    { tasks, timers: [] },
  );
}

/** A branch has ended, beside its job. */
export function collecting(job: Job, task: Task, fields: Partial<BranchResult> = {}): Change {
  const { id: taskId, status: from, spec } = task;
  const index = spec.branch?.index ?? 0;
  const result = { index, skill: spec.skill, status: 'success', data: {}, error: null, ...fields };
  const attempt = task.attempt?.id ?? null;
  return changeOf(job, {
    scope: 'tasks',
    tasks: [{ type: 'collect', taskId, attempt, from, status: 'SUCCEEDED', result }],
    history: [{ type: 'task_finished', task: taskId }],
  });
}

export function signalOf(id: string, name = 'go'): InboxItem {
  return { id, kind: 'signal', name, body: { by: id } };
}

/** A signal that came before its wait. */
export function early(job: Job, item: InboxItem, expiresAfterMs: number | null = null): Change {
  const posts: Post[] = [{ jobId: job.id, item, expiresAfterMs }];
  return changeOf(job, {
    scope: 'tasks',
    history: [{ type: 'signal_kept', reason: item.name }],
    also: alsoOf({ signalId: item.id, posts }),
  });
}

export function awaitingEvent(job: Job, also: Partial<Also> = {}): Change {
  const wait: Wait = {
    type: 'event',
    on: {},
    signals: { go: 'merge' },
    silence: null,
    poll: null,
    subscription: null,
  };
  return changeOf(
    { ...job, status: 'waiting_for_event', wait, lease: null },
    { timers: [{ name: 'deadline', afterMs: day }], also: alsoOf(also) },
  );
}

export function awaitingKey(job: Job, key: string, afterMs = day): Change {
  return changeOf(
    { ...job, status: 'waiting_for_timer', wait: { type: 'timer', to: null, key }, lease: null },
    { timers: [{ name: 'wake', afterMs }] },
  );
}

export function startingChild(job: Job, child: Change): Change {
  const wait: Wait = { type: 'child', jobId: child.job.id, on: { finished: 'merge' } };
  return changeOf(
    { ...job, status: 'waiting_for_child', wait, lease: null },
    { timers: [], also: alsoOf({ children: [child] }) },
  );
}

/** Ends a child, and tells its parent. */
export function endingChild(job: Job, parent: string, name = 'finished'): Change {
  const item: InboxItem = { id: job.id, kind: 'child', name, body: { result: 1, error: null } };
  return {
    ...ending(job),
    also: alsoOf({ posts: [{ jobId: parent, item, expiresAfterMs: null }] }),
  };
}

/** The job's own deadlines, by name. */
export async function deadlinesOf(store: Store, id: string): Promise<Record<string, number>> {
  const [causes] = await store.causes({ id });
  const own = causes?.timers.filter(({ taskId }) => taskId === null) ?? [];
  return Object.fromEntries(own.map(({ name, at }) => [name, at]));
}

export async function inboxIds(store: Store, id: string): Promise<string[]> {
  return (await store.inbox(id)).map((item) => item.id);
}
