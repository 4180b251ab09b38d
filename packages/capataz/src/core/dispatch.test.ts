/** What a dispatch starts: the task, its deadlines, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DispatchOptions, dispatch } from './action.ts';
import type { TaskChange } from './change.ts';
import { aJob, aSpec, causesAfter, startOn } from './fixtures.ts';
import type { Job } from './job.ts';
import { limbo } from './limbo.ts';
import { defaultRetry } from './retry.ts';

/** The change to the one task that a decision touches. */
function only(tasks: readonly TaskChange[]): TaskChange {
  assert.equal(tasks.length, 1);
  const [step] = tasks;
  assert.ok(step !== undefined);
  return step;
}

/** What a job on a state that dispatches so starts. */
function dispatched(
  options: Partial<DispatchOptions<string>> = {},
  job: Partial<Job> = {},
): Extract<TaskChange, { type: 'start' }> {
  const { tasks } = startOn(
    {
      start: {
        start: true,
        to: ['done'],
        handle: () => dispatch('echo', { n: 1 }, { on: { success: 'done' }, ...options }),
      },
      done: { end: true },
    },
    job,
  );
  const step = only(tasks);
  assert.equal(step.type, 'start');
  return step as Extract<TaskChange, { type: 'start' }>;
}

/** Why the handler that dispatched so failed. */
function faultOf(options: unknown, skill: unknown = 'echo', params: unknown = {}): string {
  const action = dispatch(skill as string, params as never, options as DispatchOptions<string>);
  const { history, tasks } = startOn({
    start: { start: true, to: ['done'], handle: () => action },
    done: { end: true },
  });
  assert.deepEqual(tasks, []);
  assert.equal(history.at(-1)?.type, 'handler_failed');
  return history.at(-1)?.reason ?? '';
}

test('A-12 dispatch pauses the job until the result of one task with these parameters', () => {
  const { job, tasks, history } = startOn({
    start: {
      start: true,
      to: ['done', 'rest'],
      handle: () =>
        dispatch('echo', { n: 1 }, { on: { success: 'done', other: 'rest' }, priority: 7 }),
    },
    done: { end: true },
    rest: { end: true },
  });
  assert.equal(job.status, 'waiting_for_worker');
  assert.deepEqual(job.wait, {
    type: 'task',
    taskId: 'id-1',
    on: { success: 'done', other: 'rest' },
  });
  assert.deepEqual(only(tasks), {
    type: 'start',
    taskId: 'id-1',
    timers: [],
    spec: aSpec({ params: { n: 1 }, priority: 7, retry: defaultRetry }),
  });
  const entry = history.at(-1);
  assert.deepEqual(
    [entry?.type, entry?.task, entry?.taskTo],
    ['task_dispatched', 'id-1', 'PENDING'],
  );
});

test('A-12 what the handler still holds does not change what it dispatched', () => {
  const params: { list: number[] } = { list: [1] };
  const on: Record<string, string> = { success: 'done' };
  const { job, tasks } = startOn({
    start: { start: true, to: ['done'], handle: () => dispatch('echo', params, { on }) },
    done: { end: true },
  });
  params.list.push(2);
  on.success = 'elsewhere';
  const step = only(tasks);
  assert.deepEqual(step.type === 'start' ? step.spec.params : null, { list: [1] });
  assert.deepEqual(job.wait, { type: 'task', taskId: 'id-1', on: { success: 'done' } });
});

test('what the action leaves open is the job’s: priority, timeouts, correlation id, trace', () => {
  const options = { ...aJob().options, priority: 5, dispatchTimeoutMs: 10, resultTimeoutMs: 20 };
  const { spec } = dispatched({}, { options, trace: 'trace-1', correlationId: 'c-9' });
  assert.deepEqual(
    [spec.priority, spec.dispatchTimeoutMs, spec.resultTimeoutMs, spec.trace, spec.correlationId],
    [5, 10, 20, 'trace-1', 'c-9'],
  );
  const own = dispatched(
    { priority: -5, dispatchTimeout: '1s', resultTimeout: '2s', metadata: { m: 1 } },
    { options },
  ).spec;
  assert.deepEqual(
    [own.priority, own.dispatchTimeoutMs, own.resultTimeoutMs, own.metadata],
    [-5, 1_000, 2_000, { m: 1 }],
  );
});

const nonsense: readonly [title: string, options: unknown, problem: RegExp][] = [
  ['B-055 a priority out of range', { on: { success: 'done' }, priority: 1_001 }, /priority 1001/],
  [
    'a priority that is no number',
    { on: { success: 'done' }, priority: Number.NaN },
    /priority NaN/,
  ],
  ['no on', {}, /without on/],
  ['on that is a list', { on: ['done'] }, /without on/],
  ['a target that is no name', { on: { success: 7 } }, /on\.success that names no state/],
  ['an unknown strategy', { on: { success: 'done' }, strategy: 'magic' }, /strategy "magic"/],
  [
    'a limit of cost that is no number',
    { on: { success: 'done' }, maxCost: Number.NaN },
    /maxCost NaN/,
  ],
  [
    'requirements of another shape',
    { on: { success: 'done' }, requirements: { devices: 'gpu' } },
    /member devices is not a list/,
  ],
  [
    'an unknown requirement',
    { on: { success: 'done' }, requirements: { gpu: 1 } },
    /member gpu is unknown/,
  ],
  [
    'metadata that is no object',
    { on: { success: 'done' }, metadata: [] },
    /metadata must be an object/,
  ],
  [
    'a retry rule without sense',
    { on: { success: 'done' }, retry: { max: -1 } },
    /retry\.max that must be/,
  ],
];

for (const [title, options, problem] of nonsense) {
  test(`A-10 a dispatch with ${title} fails the handler`, () => {
    assert.match(faultOf(options), problem);
  });
}

test('A-10 a dispatch without a skill, or with parameters that are no object, fails the handler', () => {
  const on = { success: 'done' };
  assert.match(faultOf({ on }, ''), /without a skill/);
  assert.match(faultOf({ on }, 7), /without a skill/);
  assert.match(faultOf({ on }, 'echo', [1]), /params must be an object, not \[1\]/);
  assert.match(faultOf({ on }, 'echo', { f: () => 1 }), /params holds what JSON cannot/);
});

test('S-22 a given result_timeout runs from the dispatch action, its planned delay excluded', () => {
  assert.deepEqual(dispatched({ resultTimeout: '10s' }).timers, [
    { name: 'result', afterMs: 10_000 },
  ]);
  assert.deepEqual(dispatched({ resultTimeout: '10s', delay: '90s' }).timers, [
    { name: 'ready', afterMs: 90_000 },
    { name: 'result', afterMs: 100_000 },
  ]);
});

test('S-22 without one an execution limit of 300 s goes with the task, for each hand-out', () => {
  const { spec, timers } = dispatched();
  assert.deepEqual([spec.resultTimeoutMs, spec.executionLimitMs], [null, 300_000]);
  assert.deepEqual(timers, [], 'it starts at the hand-out, which the store stamps');
  assert.equal(dispatched({ executionLimit: '2h' }).spec.executionLimitMs, 7_200_000);
});

test('S-22 A-23 queue time is bounded only by dispatch_timeout, which has no default', () => {
  assert.deepEqual(dispatched().timers, []);
  assert.deepEqual(dispatched({ dispatchTimeout: '5s' }).timers, [
    { name: 'dispatch', afterMs: 5_000 },
  ]);
});

test('B-006 no deadline runs during a planned delay', () => {
  const timeouts = { dispatchTimeout: '10s', resultTimeout: '20s' };
  assert.deepEqual(dispatched({ ...timeouts, delay: '90s' }).timers, [
    { name: 'ready', afterMs: 90_000 },
    { name: 'dispatch', afterMs: 100_000 },
    { name: 'result', afterMs: 110_000 },
  ]);
});

test('A-23 a job without a suitable worker waits: without a dispatch_timeout nothing is due', () => {
  const decided = startOn({
    start: {
      start: true,
      to: ['done'],
      handle: () =>
        dispatch('nobody can', {}, { on: { success: 'done' }, requirements: { worker: 'nobody' } }),
    },
    done: { end: true },
  });
  const causes = causesAfter(decided, { task: null });
  assert.equal(limbo(causes), null);
  assert.deepEqual([causes.timers, causes.queued], [[], ['id-1']]);
});

test('A-19 a task without a rule of its own follows its state’s, else the default', () => {
  assert.deepEqual(dispatched().spec.retry, defaultRetry);
  assert.equal(dispatched({ retry: { max: 9 } }).spec.retry.max, 9);
  const { tasks } = startOn({
    start: {
      start: true,
      to: ['done'],
      retry: { max: 7, then: 'done' },
      handle: () => dispatch('echo', {}, { on: { success: 'done' } }),
    },
    done: { end: true },
  });
  const step = only(tasks);
  const rule = step.type === 'start' ? step.spec.retry : null;
  assert.deepEqual([rule?.max, rule?.then], [7, 'done']);
});
