import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayOf, failureOf } from './failure.ts';
import {
  isEnded,
  type Job,
  JobEndedError,
  newJob,
  next,
  type Outcome,
  success,
  type Transition,
} from './machine.ts';

type Step = { readonly job: Job; readonly transition: Transition };

const now = Date.UTC(2026, 0, 1);
const system: Outcome = { type: 'failure', ...failureOf('system', 'late') };
const business: Outcome = { type: 'failure', ...failureOf('business', 'wrong') };
const permanent: Outcome = { type: 'failure', ...failureOf('permanent', 'never') };

function fresh(max_retries = 3): Job {
  return newJob(
    {
      id: '6f1c9a0e-5a53-4d3a-9d0b-7a5f1d0c2b3e',
      description: 'Fix it',
      retryConfig: { max_retries, base_delay_ms: 1_000 },
    },
    now,
  );
}

function after(outcomes: readonly Outcome[], job = fresh()): Job {
  return outcomes.reduce((moved, outcome, index) => next(moved, outcome, now + index + 1).job, job);
}

test('W-1, W-2, W-4, W-6, W-9: with nothing but success a job goes Init, DefineAgent, Process, End', () => {
  const seen: unknown[] = [];
  let job = fresh();
  assert.deepEqual([job.status, job.state], ['Pending', 'Init']);
  while (!isEnded(job)) {
    const moved: Step = next(job, success, now);
    ({ job } = moved);
    seen.push([moved.transition, job.state, job.status]);
  }
  assert.deepEqual(seen, [
    [{ type: 'next', state: 'DefineAgent' }, 'DefineAgent', 'InProgress'],
    [{ type: 'next', state: 'Process' }, 'Process', 'InProgress'],
    [{ type: 'next', state: 'End' }, 'End', 'InProgress'],
    [{ type: 'complete', outcome: success }, 'End', 'Completed'],
  ]);
  assert.deepEqual(job.state_history, ['Init', 'DefineAgent', 'Process', 'End']);
});

test('W-3, W-5, W-10: a failure of Init, DefineAgent or End completes the job, retries left or not', () => {
  for (const visits of [0, 1, 3]) {
    const job = after(Array.from({ length: visits }, () => success));
    const step: Step = next(job, system, now);
    assert.deepEqual(step.transition, { type: 'complete', outcome: system });
    assert.deepEqual(
      [step.job.state, step.job.status, step.job.retry_count],
      [job.state, 'Failed', 0],
    );
  }
});

test('W-7, W-14: Process is tried again after either kind of failure, and says why', () => {
  const inProcess = after([success, success]);
  for (const outcome of [system, business]) {
    const { transition, job } = next(inProcess, outcome, now);
    assert.ok(outcome.type === 'failure');
    assert.deepEqual(transition, { type: 'retry', state: 'Process', reason: outcome.kind });
    assert.deepEqual([job.state, job.status, job.retry_count], ['Process', 'InProgress', 1]);
  }
});

test('W-8, W-c: retries are counted when they begin, and never above the limit', () => {
  const job = after([success, success, system, business, system, system]);
  assert.deepEqual([job.status, job.state, job.retry_count], ['Failed', 'Process', 3]);
  assert.deepEqual(job.failure, { System: 'late' });
});

test('W-11: the visit is written before the job moves, and the job that was given stays as it was', () => {
  const job = after([success, success]);
  const { job: moved } = next(job, system, now + 7);
  assert.deepEqual(moved.state_history, ['Init', 'DefineAgent', 'Process']);
  assert.deepEqual([job.state_history.length, job.retry_count], [2, 0]);
  assert.equal(moved.updated_at, new Date(now + 7).toISOString());
});

test('W-15: a retry of Process leaves its count to the states behind it', () => {
  assert.equal(after([success, success, system, success, success]).retry_count, 1);
});

test('W-18: without retries the first failure is the last', () => {
  const { job, transition } = next(after([success, success], fresh(0)), system, now);
  assert.deepEqual([transition.type, job.status, job.retry_count], ['complete', 'Failed', 0]);
});

test('W-d: the history lists visits, the final state once', () => {
  const job = after([success, success, system, system, system, system]);
  assert.deepEqual(job.state_history, ['Init', 'DefineAgent', ...Array(4).fill('Process')]);
});

test('W-e: Completed comes with the judgement of End, so that no Completed job ever fails', () => {
  const inEnd = after([success, success, success]);
  assert.deepEqual([inEnd.state, inEnd.status], ['End', 'InProgress']);
  assert.equal(next(inEnd, system, now).job.status, 'Failed');
});

test('W-f: a job that has ended refuses to go on, and nothing is appended', () => {
  for (const job of [after([success, success, success, success]), after([system])]) {
    const before = structuredClone(job);
    assert.throws(
      () => next(job, success, now),
      (error) => error instanceof JobEndedError && error.status === job.status,
    );
    assert.deepEqual(job, before);
  }
});

test('W-m: a permanent failure is not tried again', () => {
  const { job, transition } = next(after([success, success]), permanent, now);
  assert.deepEqual([transition.type, job.retry_count, job.permanent], ['complete', 0, true]);
  assert.deepEqual(job.failure, { System: 'never' });
});

test('W-22: a failure has its kind and its text, and people read it as in the seed', () => {
  assert.equal(displayOf({ Business: 'wrong' }), 'Business failure: wrong');
  assert.equal(displayOf({ System: 'late' }), 'System failure: late');
});
