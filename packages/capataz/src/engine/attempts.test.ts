import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aHeldTask } from '../core/fixtures.ts';
import type { Task } from '../core/job.ts';
import type { WorkerRecord } from '../core/worker.ts';
import { HeldAttempts, mayHaveBegun } from './attempts.ts';

function held(number: number, fields: Partial<Task> = {}): Task {
  return aHeldTask({
    id: `task-${number}`,
    attempt: {
      id: `attempt-${number}`,
      number: 1,
      worker: 'worker-1',
      incarnation: 'incarnation-1',
      assignedAt: number,
    },
    ...fields,
  });
}

function worker(slots: number | null): WorkerRecord {
  return {
    id: 'worker-1',
    type: 'generic',
    incarnation: 'incarnation-1',
    bootId: null,
    status: 'READY',
    offer: {
      worker: 'worker-1',
      skills: ['echo'],
      hotSkills: [],
      devices: [],
      properties: {},
      artifacts: [],
      software: {},
      extra: {},
      costPerSkill: {},
    },
    slots,
    batch: true,
    heartbeatMs: 3_000,
    hostname: null,
    registeredAt: 0,
  };
}

function begun(tasks: readonly Task[], slots: number | null): boolean[] {
  return tasks.map((_task, index) => mayHaveBegun(tasks, index, worker(slots)));
}

const four = [held(1), held(2), held(3), held(4)];

test('S-25 only the first tasks of a worker, as many as it has slots, may have begun', () => {
  assert.deepEqual(begun(four, 1), [true, false, false, false]);
  assert.deepEqual(begun(four, 2), [true, true, false, false]);
  assert.deepEqual(begun(four, 9), [true, true, true, true]);
});

test('S-25 a prefetched task that was seen running is blamed all the same', () => {
  const tasks = [held(1), held(2), held(3, { status: 'RUNNING' })];
  assert.deepEqual(begun(tasks, 1), [true, false, true]);
});

test('S-25 where nobody knows the slots, every task may have begun', () => {
  assert.deepEqual(begun(four, null), [true, true, true, true]);
  assert.equal(mayHaveBegun(four, 3, null), true);
});

test('S-25 the suspects of a worker are its tasks that lost a run', () => {
  const attempts = new HeldAttempts();
  for (const task of [held(1), held(2, { lostRuns: 1 }), held(3, { failures: 2 })]) {
    attempts.add(task, 0);
  }
  assert.equal(attempts.suspects('worker-1'), 1);
  attempts.remove('attempt-2');
  assert.equal(attempts.suspects('worker-1'), 0);
  assert.equal(attempts.load('worker-1'), 2);
});

test('attempts are listed in the order of their hand-out, and forgotten with their worker', () => {
  const attempts = new HeldAttempts();
  for (const task of four) attempts.add(task, 7);
  assert.deepEqual(
    attempts.of('worker-1').map(({ task, since }) => [task.id, since]),
    [
      ['task-1', 7],
      ['task-2', 7],
      ['task-3', 7],
      ['task-4', 7],
    ],
  );
  attempts.forgetWorker('worker-1');
  assert.deepEqual([attempts.load('worker-1'), attempts.get('attempt-1')], [0, undefined]);
});

test('a cancelled attempt is told with each heartbeat until the worker names it no more', () => {
  const attempts = new HeldAttempts();
  attempts.add(held(1), 0);
  attempts.cancel('worker-1', 'attempt-1');
  assert.equal(attempts.load('worker-1'), 0);
  assert.deepEqual(attempts.cancelledAmong('worker-1', undefined), ['attempt-1']);
  assert.deepEqual(attempts.cancelledAmong('worker-1', ['attempt-1', 'x']), ['attempt-1']);
  assert.deepEqual(attempts.cancelledAmong('worker-1', ['attempt-1']), ['attempt-1']);
  assert.deepEqual(attempts.cancelledAmong('worker-1', []), []);
  assert.deepEqual(attempts.cancelledAmong('worker-1', ['attempt-1']), []);
});
