import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transition } from './action.ts';
import type { Change } from './change.ts';
import { decide, reactions } from './decide.ts';
import {
  aBranch,
  aContext,
  aHeldTask,
  aJob,
  approvalWait,
  approved,
  aTask,
  aWaitingJob,
  causesAfter,
  change,
  created,
  deepFrozen,
  eventWait,
  leaseOffer,
  refusal,
  sample,
  statesOf,
  typesOf,
} from './fixtures.ts';
import type { HistoryEntry } from './history.ts';
import type { Job, Task } from './job.ts';
import { limbo } from './limbo.ts';
import type { RefusalReason, Signal, SignalType } from './signal.ts';
import { isFinal, type JobStatus, jobStatuses, taskMayBecome } from './status.ts';

const lease = leaseOffer.lease;
const started = { version: 3, state: 'work', entry: 2 } as const;

const ran = { ...started, state: 'rest' } as const;
const fanOut = { type: 'parallel', to: 'done', count: 2 } as const;

/** A job in each status. */
const jobs: Readonly<Record<JobStatus, Job>> = {
  pending: aJob(),
  running: aJob({ ...started, state: 'think', status: 'running', lease }),
  waiting_for_worker: aWaitingJob(),
  waiting_for_human: aJob({ ...ran, status: 'waiting_for_human', wait: approvalWait }),
  waiting_for_parallel: aWaitingJob({ status: 'waiting_for_parallel', wait: fanOut }),
  waiting_for_child: aJob({
    ...ran,
    status: 'waiting_for_child',
    wait: { type: 'child', jobId: 'child-1', on: { success: 'done', timeout: 'done' } },
  }),
  waiting_for_event: aJob({ ...ran, status: 'waiting_for_event', wait: eventWait }),
  waiting_for_timer: aJob({
    ...ran,
    status: 'waiting_for_timer',
    wait: { type: 'timer', to: 'think' },
  }),
  finished: aJob({ ...started, state: 'done', status: 'finished', endedAt: 9_000 }),
  failed: aJob({ ...started, status: 'failed', error: { code: 'FAILED', message: 'no' } }),
  cancelled: aJob({ ...started, status: 'cancelled', error: { code: 'CANCELLED', message: 'no' } }),
  quarantined: aJob({
    ...started,
    status: 'quarantined',
    resume: {
      type: 'parallel',
      wait: fanOut,
      parked: [{ taskId: 'task-9', spec: aBranch().spec }],
    },
  }),
};

interface Case {
  readonly job: Job;
  readonly task: Task | null;
  readonly signal: Signal;
}

/** A signal as it would meet a job in this status, and what the job must be like for it to apply. */
const cases: Readonly<Record<SignalType, (status: JobStatus) => Case>> = {
  created: of(() => created),
  claimed: (status) => ({
    ...base(status),
    job: { ...jobs[status], ...(isRunnable(status) ? runnable : {}) },
    signal: { type: 'claimed', ...leaseOffer },
  }),
  handled: of(() => ({ type: 'handled', token: 'lease-1', action: transition('done'), data: {} })),
  handler_failed: of(() => ({
    type: 'handler_failed',
    token: 'lease-1',
    error: { message: 'boom' },
  })),
  handler_lost: of(() => ({ type: 'handler_lost', token: 'lease-1' })),
  reported: of((task) => ({
    type: 'reported',
    task,
    attempt: 'attempt-1',
    worker: 'worker-1',
    report: { status: 'success' },
  })),
  returned: of((task) => ({ type: 'returned', task, attempt: 'attempt-1', cause: 'lost' })),
  deadline: (status) => {
    const about = base(status);
    const job =
      status === 'pending'
        ? { ...about.job, version: 1, wait: { type: 'timer' as const, to: null } }
        : about.job;
    const own = job.wait?.type === 'timer' ? ('wake' as const) : ('deadline' as const);
    const name = about.task === null ? own : ('execution' as const);
    return { ...about, job, signal: { type: 'deadline', name, task: about.task } };
  },
  cancel: of(() => ({ type: 'cancel', actor: 'client-1', reason: 'not needed' })),
  hold: of(() => ({ type: 'hold', actor: 'operator-1' })),
  release: (status) => ({
    ...base(status),
    job: { ...jobs[status], held: true, version: 3 },
    signal: { type: 'release', actor: 'operator-1' },
  }),
  redrive: of(() => ({ type: 'redrive', actor: 'operator-1' })),
  dismiss: of(() => ({ type: 'dismiss', actor: 'operator-1', reason: 'not needed' })),
  orphaned: of(() => ({ type: 'orphaned' })),
  stranded: of(() => ({ type: 'stranded', problem: 'its task is gone' })),
  outside: of(() => ({ type: 'outside', name: 'go', id: 's1', data: null, actor: 'client-1' })),
  decided: of(() => ({ type: 'decided', ...approved })),
  inbox: of(() => ({ type: 'inbox', items: [], at: 0 })),
};

const runnable: Partial<Job> = { version: 3, state: 'think', entry: 1, lease: null };

function isRunnable(status: JobStatus): boolean {
  return status === 'pending' || status === 'running';
}

function base(status: JobStatus): { readonly job: Job; readonly task: Task | null } {
  const job = jobs[status];
  if (job.wait?.type === 'task') return { job, task: aHeldTask() };
  const hasBranches = job.wait?.type === 'parallel' || job.resume?.type === 'parallel';
  return { job, task: hasBranches ? aBranch() : null };
}

function of(signal: (task: Task | null) => Signal): (status: JobStatus) => Case {
  return (status) => ({ ...base(status), signal: signal(base(status).task) });
}

for (const signalType of Object.keys(reactions) as SignalType[]) {
  for (const status of jobStatuses) {
    const reaction = reactions[signalType][status];
    test(`${signalType} in ${status}: ${reaction}`, () => {
      const { job, task, signal } = cases[signalType](status);
      assert.equal(job.status, status);
      if (reaction === 'applies') {
        assertSound(job, task, change(job, signal));
      } else {
        const decision = decide(job, signal, sample, aContext());
        assert.deepEqual(decision, { type: 'refusal', reason: reaction });
      }
    });
  }
}

test('a final status admits no signal but refusals', () => {
  for (const [type, byStatus] of Object.entries(reactions)) {
    for (const status of jobStatuses.filter(isFinal)) {
      assert.notEqual(byStatus[status], 'applies', `${type} in ${status}`);
    }
  }
});

test('S-7 finished, failed and cancelled are final; quarantined is parked and can be redriven', () => {
  assert.deepEqual(
    jobStatuses.filter((status) =>
      Object.values(reactions).every((reaction) => reaction[status] !== 'applies'),
    ),
    ['finished', 'failed', 'cancelled'],
  );
  assert.equal(reactions.redrive.quarantined, 'applies');
  assert.equal(reactions.cancel.quarantined, 'applies');
  assert.equal((jobStatuses as readonly string[]).includes('error'), false);
});

test('the same arguments give the same decision, and none of them is changed', () => {
  for (const signalType of Object.keys(reactions) as SignalType[]) {
    for (const status of jobStatuses) {
      const { job, signal } = cases[signalType](status);
      const before = structuredClone({ job, signal });
      const first = decide(deepFrozen(job), deepFrozen(signal), sample, aContext({ lease: null }));
      const second = decide(job, signal, sample, aContext({ lease: null }));
      assert.deepEqual(first, second, `${signalType} in ${status}`);
      assert.deepEqual({ job, signal }, before);
    }
  }
});

const particulars: readonly {
  readonly title: string;
  readonly job: Job;
  readonly signal: Signal;
  readonly reason: RefusalReason;
}[] = [
  {
    title: 'created for a job that was stored before',
    job: aJob({ version: 1 }),
    signal: created,
    reason: 'job_exists',
  },
  {
    title: 'claimed while another holds the lease',
    job: jobs.running,
    signal: { type: 'claimed', ...leaseOffer },
    reason: 'not_runnable',
  },
  {
    title: 'S-7 claimed while the job is held',
    job: aJob({ ...runnable, held: true }),
    signal: { type: 'claimed', ...leaseOffer },
    reason: 'not_runnable',
  },
  {
    title: 'claimed during the start delay',
    job: aJob({ version: 1, wait: { type: 'timer', to: null } }),
    signal: { type: 'claimed', ...leaseOffer },
    reason: 'not_runnable',
  },
  {
    title: 'handled under an older lease',
    job: jobs.running,
    signal: { type: 'handled', token: 'lease-0', action: transition('done'), data: {} },
    reason: 'lease_not_current',
  },
  {
    title: 'handler_failed under an older lease',
    job: jobs.running,
    signal: { type: 'handler_failed', token: 'lease-0', error: { message: 'boom' } },
    reason: 'lease_not_current',
  },
  {
    title: 'handler_lost for an older lease',
    job: jobs.running,
    signal: { type: 'handler_lost', token: 'lease-0' },
    reason: 'lease_not_current',
  },
  {
    title: 'hold when it is held',
    job: aWaitingJob({ held: true }),
    signal: { type: 'hold', actor: 'operator-1' },
    reason: 'already_held',
  },
  {
    title: 'release when it is not held',
    job: aWaitingJob(),
    signal: { type: 'release', actor: 'operator-1' },
    reason: 'not_held',
  },
  {
    title: 'wake when it waits for a task',
    job: aWaitingJob(),
    signal: { type: 'deadline', name: 'wake', task: null },
    reason: 'nothing_due',
  },
  {
    title: 'wake for a task',
    job: aWaitingJob(),
    signal: { type: 'deadline', name: 'wake', task: aHeldTask() },
    reason: 'nothing_due',
  },
  {
    title: 'a deadline of a task that the job does not wait for',
    job: aWaitingJob(),
    signal: { type: 'deadline', name: 'result', task: aHeldTask({ id: 'task-0' }) },
    reason: 'nothing_due',
  },
  {
    title: 'ready for a task that was handed out meanwhile',
    job: aWaitingJob(),
    signal: { type: 'deadline', name: 'ready', task: aHeldTask() },
    reason: 'nothing_due',
  },
  {
    title: 'dispatch for a task that was handed out meanwhile',
    job: aWaitingJob(),
    signal: { type: 'deadline', name: 'dispatch', task: aHeldTask() },
    reason: 'nothing_due',
  },
  {
    title: 'execution for a task that came back meanwhile',
    job: aWaitingJob(),
    signal: { type: 'deadline', name: 'execution', task: aTask() },
    reason: 'nothing_due',
  },
];

for (const { title, job, signal, reason } of particulars) {
  test(`refused by its particulars: ${title}`, () => assert.equal(refusal(job, signal), reason));
}

test('S-7 held is a flag: deadlines go on, and a handler is offered no lease', () => {
  const job = { ...jobs.waiting_for_timer, held: true };
  const wake: Signal = { type: 'deadline', name: 'wake', task: null };
  const awake = change(job, wake, sample, { lease: leaseOffer });
  assert.equal(awake.job.state, 'think');
  assert.equal(awake.job.lease, null);
  assert.equal(awake.job.held, true);
  const free = change(jobs.waiting_for_timer, wake, sample, { lease: leaseOffer });
  assert.deepEqual(free.job.lease, lease);
});

test('a start delay keeps the job out of its first state until it is over', () => {
  const delayed = change(aJob(), { type: 'created', startDelayMs: 60_000 });
  assert.deepEqual(delayed.timers, [{ name: 'wake', afterMs: 60_000 }]);
  assert.equal(delayed.job.entry, 0);
  const begun = change(
    { ...delayed.job, version: 1 },
    { type: 'deadline', name: 'wake', task: null },
  );
  assert.deepEqual(statesOf(begun.history), ['start', 'work']);
});

test('a job whose blueprint went away during its start delay begins when it is redriven', () => {
  const delayed = aJob({ version: 1, wait: { type: 'timer', to: null } });
  const parked = change(delayed, { type: 'orphaned' }, null);
  assert.equal(parked.job.status, 'quarantined');
  assert.equal(parked.job.error?.code, 'BLUEPRINT_GONE');
  const redriven = change(parked.job, { type: 'redrive', actor: 'operator-1' });
  assert.deepEqual(statesOf(redriven.history), ['start', 'work']);
});

test('cancelling fences the tasks and disarms the deadlines, with and without the blueprint', () => {
  for (const machine of [sample, null]) {
    const signal: Signal = { type: 'cancel', actor: 'client-1', reason: 'not needed' };
    const cancelled = change(aWaitingJob(), signal, machine);
    assert.equal(cancelled.job.status, 'cancelled');
    assert.deepEqual(cancelled.tasks, [{ type: 'cancel_all' }]);
    assert.deepEqual(cancelled.timers, []);
    assert.deepEqual(typesOf(cancelled.history), ['job_cancelled']);
    assert.equal(cancelled.history[0]?.actor, 'client-1');
  }
});

function assertSound(before: Job, task: Task | null, decided: Change): void {
  const { job, history } = decided;
  assert.equal(limbo(causesAfter(decided, { task })), null);
  assert.equal(job.version, before.version, 'only the store raises the version');
  for (const stamp of ['createdAt', 'enteredAt', 'endedAt'] as const) {
    assert.equal(job[stamp], before[stamp], `only the store stamps ${stamp}`);
  }
  const isLook = decided.also?.disarm.includes('inbox') === true;
  assert.ok(history.length > 0 || isLook, 'a change without an entry in the book');
  const isParked = job.status === 'quarantined' && before.status !== 'quarantined';
  if (isFinal(job.status) || isParked) {
    assert.deepEqual([job.wait, job.lease], [null, null]);
    assert.notDeepEqual(decided.timers, 'keep', 'an ended job keeps no deadline');
  }
  assertLegalSteps(history, task);
}

/** The matrix, and beyond it only the retry rule's step in the entry right behind the failure. */
function assertLegalSteps(history: readonly HistoryEntry[], task: Task | null): void {
  let last = task?.status;
  for (const [index, { taskFrom, taskTo }] of history.entries()) {
    if (taskFrom === undefined || taskTo === undefined) continue;
    assert.equal(taskFrom, last, 'an entry goes on where the one before it ended');
    const isRetry =
      taskTo === 'PENDING' &&
      (taskFrom === 'FAILED' || taskFrom === 'TIMEOUT') &&
      history[index - 1]?.taskTo === taskFrom;
    assert.ok(taskMayBecome(taskFrom, taskTo) || isRetry, `${taskFrom} → ${taskTo}`);
    last = taskTo;
  }
}
