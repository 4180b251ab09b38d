import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aHeldTask, aJob, aTask, aWaitingJob, leaseOffer } from './fixtures.ts';
import type { Job, Task } from './job.ts';
import { type Phase, phase, phases } from './phase.ts';
import { type JobStatus, jobStatuses, taskStatuses } from './status.ts';

const { lease } = leaseOffer;

function failedBy(code: string): Job {
  return aJob({ status: 'failed', error: { code, message: 'no' } });
}

const cases: readonly [title: string, job: Job, task: Task | null, expected: Phase][] = [
  ['its queued task', aWaitingJob(), aTask(), 'PENDING'],
  ['its assigned task', aWaitingJob(), aHeldTask(), 'ASSIGNED'],
  ['its task bound to a worker', aWaitingJob(), aHeldTask({ status: 'SCHEDULED' }), 'SCHEDULED'],
  ['its running task', aWaitingJob(), aHeldTask({ status: 'RUNNING' }), 'RUNNING'],
  ['a handler that runs', aJob({ status: 'running', lease }), null, 'RUNNING'],
  ['a handler that waits for an instance', aJob({ status: 'running' }), null, 'WAITING'],
  ['a new job', aJob(), null, 'WAITING'],
  [
    'a sleep',
    aJob({ status: 'waiting_for_timer', wait: { type: 'timer', to: 'x' } }),
    null,
    'WAITING',
  ],
  ['a good end', aJob({ status: 'finished' }), null, 'SUCCEEDED'],
  ['a cancel', aJob({ status: 'cancelled' }), null, 'CANCELLED'],
  ['an error', failedBy('INVALID_INPUT_ERROR'), null, 'FAILED'],
  ['a failure without an error', aJob({ status: 'failed' }), null, 'FAILED'],
  ['a dispatch timeout', failedBy('DISPATCH_TIMEOUT'), null, 'TIMEOUT'],
  ['a result timeout', failedBy('RESULT_TIMEOUT'), null, 'TIMEOUT'],
  ['an execution limit', failedBy('EXECUTION_LIMIT'), null, 'TIMEOUT'],
  ['a quarantine', aJob({ status: 'quarantined' }), null, 'FAILED'],
];

for (const [title, job, task, expected] of cases) {
  test(`S-13 the phase of a job by ${title}: ${expected}`, () => {
    assert.equal(phase(job, task === null ? [] : [task]), expected);
  });
}

test('S-13 the phases are the eight words of a task, and WAITING', () => {
  assert.deepEqual(new Set(phases), new Set([...taskStatuses, 'WAITING']));
  assert.equal(phases.length, 9);
  const shown = new Set(cases.map(([, , , expected]) => expected));
  assert.deepEqual(shown, new Set(phases));
});

test('S-13 every status has a phase', () => {
  const waiting = new Set<JobStatus>(['waiting_for_worker']);
  for (const status of jobStatuses) {
    const job = waiting.has(status) ? aWaitingJob() : aJob({ status });
    assert.ok(phases.includes(phase(job, waiting.has(status) ? [aTask()] : [])), status);
  }
});

test('S-13 a job that waits for a task has no phase without it', () => {
  assert.throws(() => phase(aWaitingJob(), []), /needs the task/);
  assert.throws(() => phase(aWaitingJob(), [aTask({ id: 'another' })]), /needs the task/);
});
