import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Change, TaskChange } from '../core/change.ts';
import type { Job, Task, TaskSpec } from '../core/job.ts';
import { taskClass } from '../core/requirements.ts';
import { defaultRetry } from '../core/retry.ts';
import type { Timer } from '../core/signal.ts';
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
    },
    correlationId: `c-${id}`,
    trace: null,
    result: null,
    error: null,
    createdAt: 0,
    enteredAt: 0,
    endedAt: null,
    ...fields,
  };
}

export function changeOf(job: Job, fields: Partial<Change> = {}): Change {
  return {
    job,
    entered: false,
    tasks: [],
    timers: 'keep',
    leaseForMs: 'keep',
    history: [{ type: 'state_entered', state: job.state }],
    reservations: [],
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
