/** The task's side of a job: reports, attempts that come back, deadlines. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dispatch, transition } from './action.ts';
import type { TaskChange } from './change.ts';
import {
  aBlueprint,
  aHeldTask,
  aSpec,
  aTask,
  aWaitingJob,
  change,
  refusal,
  sample,
  statesOf,
  typesOf,
} from './fixtures.ts';
import type { HistoryEntry } from './history.ts';
import type { Task, TaskSpec } from './job.ts';
import { defaultRetry } from './retry.ts';
import type { Report, ReturnCause, Signal, TimerName } from './signal.ts';
import type { TaskStatus } from './status.ts';

const noJitter = { ...defaultRetry, jitter: 0 };

function reported(report: Report, task: Task = aHeldTask()): Signal {
  return { type: 'reported', task, attempt: 'attempt-1', worker: 'worker-1', report };
}

function failing(code: string, task: Task = aHeldTask()): Signal {
  return reported({ error: { code, message: 'no luck' } }, task);
}

function returned(cause: ReturnCause, task: Task = aHeldTask()): Signal {
  return { type: 'returned', task, attempt: 'attempt-1', cause };
}

function due(name: TimerName, task: Task): Signal {
  return { type: 'deadline', name, task };
}

/** The change to the one task that a decision touches. */
function only(tasks: readonly TaskChange[]): TaskChange {
  assert.equal(tasks.length, 1);
  const [step] = tasks;
  assert.ok(step !== undefined);
  return step;
}

function requeueOf(tasks: readonly TaskChange[]): Extract<TaskChange, { type: 'requeue' }> {
  const step = only(tasks);
  assert.equal(step.type, 'requeue');
  return step as Extract<TaskChange, { type: 'requeue' }>;
}

/** The statuses that a task went through, as the book has them. */
function pathOf(history: readonly HistoryEntry[]): (TaskStatus | undefined)[] {
  const steps = history.filter(({ taskTo }) => taskTo !== undefined);
  return [steps[0]?.taskFrom, ...steps.map(({ taskTo }) => taskTo)];
}

test('S-22 a result_timeout spans retries: a requeue leaves it alone', () => {
  const task = aHeldTask({ spec: aSpec({ resultTimeoutMs: 10_000, retry: noJitter }) });
  const { timers } = requeueOf(change(aWaitingJob(), failing('TRANSIENT_ERROR', task)).tasks);
  assert.deepEqual(timers, [{ name: 'ready', afterMs: 1_000 }]);
});

test('B-006 the dispatch deadline does not run during a back-off, and starts when it is over', () => {
  const retry = { ...noJitter, baseMs: 90_000, capMs: 90_000 };
  const spec = aSpec({ dispatchTimeoutMs: 10_000, retry });
  const failed = change(aWaitingJob(), failing('TRANSIENT_ERROR', aHeldTask({ spec })));
  assert.deepEqual(requeueOf(failed.tasks).timers, [
    { name: 'ready', afterMs: 90_000 },
    { name: 'dispatch', afterMs: 100_000 },
  ]);
  const task = aTask({ spec, failures: 1, lostRuns: 2 });
  const ready = change(aWaitingJob(), due('ready', task));
  assert.deepEqual(requeueOf(ready.tasks), {
    type: 'requeue',
    taskId: 'task-1',
    attempt: null,
    from: 'PENDING',
    failures: 1,
    lostRuns: 2,
    timers: [{ name: 'dispatch', afterMs: 10_000 }],
  });
  assert.deepEqual(typesOf(ready.history), ['task_ready']);
});

test('A-13 S-20 the reported status picks the transition; none given means success', () => {
  const done = change(aWaitingJob(), reported({}));
  assert.deepEqual([done.job.status, done.job.state], ['finished', 'done']);
  const rest = change(aWaitingJob(), reported({ status: 'partial' }));
  assert.deepEqual([rest.job.status, rest.job.state], ['waiting_for_timer', 'rest']);
});

test('A-13 S-20 a status without a transition leads to the state failed, and runs its handler', () => {
  for (const status of ['unheard of', 'toString', '__proto__', '']) {
    const { job } = change(aWaitingJob(), reported({ status }));
    assert.deepEqual([job.status, job.state], ['failed', 'failed']);
    assert.equal(job.error?.code, 'UNKNOWN_STATUS');
    assert.match(job.error?.message ?? '', /maps only success, partial/);
  }
  const machine = aBlueprint({
    start: {
      start: true,
      to: ['done'],
      handle: () => dispatch('echo', {}, { on: { success: 'done' } }),
    },
    done: { end: true },
    failed: { to: ['done'], handle: () => transition('done') },
  });
  const rescued = change(aWaitingJob({ state: 'start' }), reported({ status: 'odd' }), machine);
  assert.deepEqual(statesOf(rescued.history), ['failed', 'done']);
});

test('S-20 a report with an error goes by the class, and on is not consulted', () => {
  const job = aWaitingJob({
    wait: { type: 'task', taskId: 'task-1', on: { success: 'done', failure: 'rest' } },
  });
  const report: Report = {
    status: 'failure',
    error: { code: 'PERMANENT_ERROR', message: 'no luck' },
  };
  assert.equal(change(job, reported(report)).job.status, 'quarantined');
  assert.equal(change(job, reported({ status: 'failure' })).job.state, 'rest');
});

test('A-14 an object in data is merged into the job’s data and visible in later states', () => {
  let seen: unknown;
  const machine = aBlueprint({
    start: {
      start: true,
      to: ['next'],
      handle: () => dispatch('echo', {}, { on: { success: 'next' } }),
    },
    next: {
      end: true,
      handle: (job) => {
        seen = job.data;
      },
    },
  });
  const job = aWaitingJob({
    state: 'start',
    data: { a: 1, b: { deep: 1 } },
    wait: { type: 'task', taskId: 'task-1', on: { success: 'next' } },
  });
  const decided = change(job, reported({ data: { b: { other: 2 }, c: 3 } }), machine);
  assert.deepEqual(decided.job.data, { a: 1, b: { other: 2 }, c: 3 });
  assert.deepEqual(seen, { a: 1, b: { other: 2 }, c: 3 });
});

test('A-14 any other data is kept in the book and harms nothing', () => {
  for (const data of [[1, 2], 'text', 7, null, false]) {
    const { job, history } = change(aWaitingJob({ data: { a: 1 } }), reported({ data }));
    assert.deepEqual(job.data, { a: 1 });
    assert.equal(job.status, 'finished');
    const finished = history.find(({ type }) => type === 'task_finished');
    assert.deepEqual(finished?.details, { data });
  }
});

test('S-26 RUNNING is folded into the result when the result comes first, and only then', () => {
  const first = change(aWaitingJob(), reported({}));
  assert.deepEqual(pathOf(first.history), ['ASSIGNED', 'RUNNING', 'SUCCEEDED']);
  assert.deepEqual(typesOf(first.history).slice(0, 2), ['task_started', 'task_finished']);
  const seen = change(aWaitingJob(), reported({}, aHeldTask({ status: 'RUNNING' })));
  assert.deepEqual(pathOf(seen.history), ['RUNNING', 'SUCCEEDED']);
  const bound = change(aWaitingJob(), reported({}, aHeldTask({ status: 'SCHEDULED' })));
  assert.deepEqual(pathOf(bound.history), ['SCHEDULED', 'RUNNING', 'SUCCEEDED']);
});

test('S-20 the statuses failure and cancelled end the task in these words', () => {
  const ends = ['failure', 'cancelled', 'anything'].map((status) => {
    const step = only(change(aWaitingJob(), reported({ status })).tasks);
    return step.type === 'end' ? step.status : null;
  });
  assert.deepEqual(ends, ['FAILED', 'CANCELLED', 'SUCCEEDED']);
});

/** Lets a task fail by transient errors until it is given up. */
function failUntilSpent(code: string, spec: TaskSpec) {
  const delays: (number | undefined)[] = [];
  let task = aHeldTask({ spec });
  for (let runs = 1; ; runs += 1) {
    assert.ok(runs < 10, 'it is never given up');
    const decided = change(aWaitingJob(), failing(code, task));
    const step = only(decided.tasks);
    if (step.type !== 'requeue') return { delays, decided };
    delays.push(step.timers[0]?.afterMs);
    task = aHeldTask({ spec, failures: step.failures, lostRuns: step.lostRuns });
  }
}

test('A-19 S-21 a transient error is retried 3 times, 1 s, 2 s and 4 s apart, then parked', () => {
  for (const code of ['TRANSIENT_ERROR', 'A_CODE_OF_TOMORROW', 'toString']) {
    const { delays, decided } = failUntilSpent(code, aSpec({ retry: noJitter }));
    assert.deepEqual(delays, [1_000, 2_000, 4_000]);
    assert.equal(decided.job.status, 'quarantined');
    assert.deepEqual(decided.job.error, { code, message: 'no luck' });
    assert.deepEqual(pathOf(decided.history), ['ASSIGNED', 'FAILED']);
  }
});

test('S-21 the jitter moves a retry by at most a tenth', () => {
  const delayMs = (chance: number) => {
    const spec = aSpec({ retry: defaultRetry });
    const signal = failing('TRANSIENT_ERROR', aHeldTask({ spec }));
    return requeueOf(change(aWaitingJob(), signal, sample, { chance }).tasks).timers[0]?.afterMs;
  };
  assert.deepEqual([delayMs(0), delayMs(0.5), delayMs(1 - 2 ** -53)], [900, 1_000, 1_100]);
});

test('S-27 A-19 spent retries of a task lead to the state that its rule names', () => {
  const { decided } = failUntilSpent(
    'TRANSIENT_ERROR',
    aSpec({ retry: { ...noJitter, then: 'late' } }),
  );
  assert.deepEqual([decided.job.status, decided.job.state], ['finished', 'late']);
});

test('A-20 a permanent error parks the job at once, and a redrive starts the task anew', () => {
  const spec = aSpec({ dispatchTimeoutMs: 10, resultTimeoutMs: 20 });
  const parked = change(aWaitingJob(), failing('PERMANENT_ERROR', aHeldTask({ spec })));
  assert.equal(parked.job.status, 'quarantined');
  assert.deepEqual(parked.job.error, { code: 'PERMANENT_ERROR', message: 'no luck' });
  assert.deepEqual(only(parked.tasks), {
    type: 'end',
    taskId: 'task-1',
    attempt: 'attempt-1',
    from: 'ASSIGNED',
    status: 'FAILED',
  });
  const redriven = change(parked.job, { type: 'redrive', actor: 'operator-1' });
  assert.deepEqual([redriven.job.status, redriven.job.error], ['waiting_for_worker', null]);
  assert.deepEqual(redriven.job.wait, aWaitingJob().wait);
  assert.deepEqual(only(redriven.tasks), {
    type: 'start',
    taskId: 'task-1',
    spec,
    timers: [
      { name: 'dispatch', afterMs: 10 },
      { name: 'result', afterMs: 20 },
    ],
  });
});

test('A-21 an invalid input fails the job at once, whatever the state maps', () => {
  const { job, history } = change(aWaitingJob(), failing('INVALID_INPUT_ERROR'));
  assert.deepEqual([job.status, job.state], ['failed', 'work']);
  assert.deepEqual(job.error, { code: 'INVALID_INPUT_ERROR', message: 'no luck' });
  assert.deepEqual(pathOf(history), ['ASSIGNED', 'FAILED']);
});

test('S-17 a retry is written → FAILED → PENDING in one change, in this order', () => {
  const causes: Signal[] = [
    failing('TRANSIENT_ERROR', aHeldTask({ status: 'RUNNING' })),
    returned('lost', aHeldTask({ status: 'RUNNING' })),
    returned('not_delivered'),
    returned('handed_back', aHeldTask({ status: 'SCHEDULED' })),
  ];
  for (const signal of causes) {
    const decided = change(aWaitingJob(), signal);
    const [failed, requeued] = decided.history;
    assert.deepEqual(typesOf(decided.history), ['task_failed', 'task_requeued']);
    assert.deepEqual([failed?.taskTo, failed?.attempt], ['FAILED', 'attempt-1']);
    assert.deepEqual([requeued?.taskFrom, requeued?.taskTo], ['FAILED', 'PENDING']);
    assert.equal(requeueOf(decided.tasks).attempt, 'attempt-1');
    assert.equal(decided.job.status, 'waiting_for_worker');
    assert.equal(decided.timers, 'keep');
  }
});

test('S-17 a terminal task status means that no retry is left', () => {
  fc.assert(
    fc.property(
      fc.nat(4),
      fc.nat(6),
      fc.nat(6),
      fc.constantFrom<Signal['type']>('reported', 'returned'),
      (max, failures, lostRuns, type) => {
        const task = aHeldTask({
          failures,
          lostRuns,
          spec: aSpec({ retry: { ...noJitter, max } }),
        });
        const signal =
          type === 'reported' ? failing('TRANSIENT_ERROR', task) : returned('lost', task);
        const step = only(change(aWaitingJob(), signal).tasks);
        const counted =
          type === 'reported' ? Math.max(failures + 1, lostRuns) : Math.max(failures, lostRuns + 1);
        assert.equal(step.type, counted > max ? 'end' : 'requeue');
      },
    ),
  );
});

test('S-21 a dispatch timeout ends the task CANCELLED', () => {
  const { job, tasks, history } = change(aWaitingJob(), due('dispatch', aTask()));
  assert.deepEqual(pathOf(history), ['PENDING', 'CANCELLED']);
  assert.deepEqual(only(tasks), {
    type: 'end',
    taskId: 'task-1',
    attempt: null,
    from: 'PENDING',
    status: 'CANCELLED',
  });
  assert.deepEqual([job.status, job.state], ['failed', 'failed']);
  assert.equal(job.error?.code, 'DISPATCH_TIMEOUT');
});

test('S-21 A-24 a result timeout or an execution limit ends the task TIMEOUT, wherever it is', () => {
  const statuses: [TimerName, Task][] = [
    ['result', aTask()],
    ['result', aHeldTask()],
    ['result', aHeldTask({ status: 'SCHEDULED' })],
    ['result', aHeldTask({ status: 'RUNNING' })],
    ['execution', aHeldTask()],
    ['execution', aHeldTask({ status: 'RUNNING' })],
  ];
  for (const [name, task] of statuses) {
    const { job, history } = change(aWaitingJob(), due(name, task));
    assert.deepEqual(pathOf(history), [task.status, 'TIMEOUT']);
    assert.equal(job.error?.code, name === 'result' ? 'RESULT_TIMEOUT' : 'EXECUTION_LIMIT');
  }
});

test('S-21 A-23 A-24 a spent deadline is not retried: it takes on.timeout, else failed', () => {
  const wait = {
    type: 'task',
    taskId: 'task-1',
    on: { success: 'done', timeout: 'late' },
  } as const;
  for (const [name, task] of [
    ['dispatch', aTask()],
    ['result', aHeldTask()],
    ['execution', aHeldTask()],
  ] as const) {
    const mapped = change(aWaitingJob({ wait }), due(name, task)).job;
    assert.deepEqual([mapped.status, mapped.state, mapped.result], ['finished', 'late', 'late']);
    assert.equal(change(aWaitingJob(), due(name, task)).job.state, 'failed');
  }
});

test('A-24 B-001 a report after the attempt ended changes nothing: it is stale', () => {
  const job = aWaitingJob();
  const report: Report = { data: { v: 1 } };
  const stale = { type: 'reported', attempt: 'attempt-1', worker: 'worker-1', report } as const;
  const second = aHeldTask({
    attempts: 2,
    attempt: {
      id: 'attempt-2',
      number: 2,
      worker: 'worker-2',
      incarnation: 'incarnation-2',
      assignedAt: 3_000,
    },
  });
  for (const task of [null, aTask({ failures: 1 }), second, aHeldTask({ id: 'task-0' })]) {
    assert.equal(refusal(job, { ...stale, task }), 'stale_task');
    const cause = { type: 'returned', task, attempt: 'attempt-1', cause: 'lost' } as const;
    assert.equal(refusal(job, cause), 'stale_task');
  }
  const current = change(job, { ...stale, task: second, attempt: 'attempt-2', worker: 'worker-2' });
  assert.equal(current.job.status, 'finished');
});

test('B-001 a report by another worker than the attempt’s is refused', () => {
  const signal: Signal = { ...reported({}), worker: 'worker-2' } as Signal;
  assert.equal(refusal(aWaitingJob(), signal), 'worker_mismatch');
});

test('B-004 after a cancel the late success is refused', () => {
  const cancelled = change(aWaitingJob(), { type: 'cancel', actor: 'client-1', reason: 'enough' });
  assert.equal(refusal(cancelled.job, reported({ data: { v: 1 } })), 'job_cancelled');
});

test('S-25 A-33 a hand-out whose reply was not flushed is uncounted and queued at once', () => {
  for (const cause of ['not_delivered', 'not_started'] as const) {
    const task = aHeldTask({ failures: 3, lostRuns: 3 });
    const { tasks, history } = change(aWaitingJob(), returned(cause, task));
    const { failures, lostRuns, timers } = requeueOf(tasks);
    assert.deepEqual([failures, lostRuns, timers], [3, 3, []]);
    assert.equal(history[0]?.reason, cause);
  }
});

test('S-25 an attempt that ends without a report raises lostRuns', () => {
  const { tasks } = change(aWaitingJob(), returned('lost', aHeldTask({ failures: 1 })));
  const { failures, lostRuns, timers } = requeueOf(tasks);
  assert.deepEqual([failures, lostRuns], [1, 1]);
  assert.deepEqual(timers, [{ name: 'ready', afterMs: 1_000 }]);
});

test('S-25 S-21 a hand-back is a failure, capped like one, and not delayed', () => {
  const { tasks } = change(aWaitingJob(), returned('handed_back'));
  const { failures, lostRuns, timers } = requeueOf(tasks);
  assert.deepEqual([failures, lostRuns, timers], [1, 0, []]);
  const spent = change(aWaitingJob(), returned('handed_back', aHeldTask({ failures: 3 })));
  assert.equal(spent.job.status, 'quarantined');
  assert.equal(spent.job.error?.code, 'HANDED_BACK');
});

test('B-013 S-25 a task that kills its workers is parked after 3 deliveries with retries 2', () => {
  const spec = aSpec({ retry: { ...noJitter, max: 2 } });
  let task = aHeldTask({ spec, status: 'RUNNING' });
  let deliveries = 1;
  let decided = change(aWaitingJob(), returned('lost', task));
  while (decided.job.status === 'waiting_for_worker') {
    deliveries += 1;
    assert.ok(deliveries < 10, 'it is handed out for ever');
    task = { ...task, lostRuns: requeueOf(decided.tasks).lostRuns };
    assert.equal(
      change(aWaitingJob(), { type: 'cancel', actor: 'a', reason: 'r' }).job.status,
      'cancelled',
    );
    decided = change(aWaitingJob(), returned('lost', task));
  }
  assert.equal(deliveries, 3);
  assert.equal(decided.job.status, 'quarantined');
  assert.deepEqual(decided.job.error, { code: 'WORKER_LOST', message: 'worker lost 3 times' });
});

test('a held job goes on taking reports and deadlines', () => {
  const held = aWaitingJob({ held: true });
  assert.equal(change(held, reported({})).job.status, 'finished');
  assert.equal(change(held, due('result', aHeldTask())).job.status, 'failed');
});

test('results that add up to more than a store can keep fail the job, and the rest stays', () => {
  const big = 'x'.repeat(9 * 1024 * 1024);
  const job = aWaitingJob({ data: { first: big } });
  const { job: after } = change(job, reported({ data: { second: big } }));
  assert.equal(after.status, 'failed');
  assert.equal(after.error?.code, 'DATA_TOO_LARGE');
  assert.deepEqual(Object.keys(after.data), ['first']);
  assert.equal(change(job, reported({ data: { second: 'small' } })).job.status, 'finished');
});
