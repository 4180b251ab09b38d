import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type TaskStatus,
  taskMayBecome,
  taskStatuses,
  type WorkerStatus,
  workerMayBecome,
  workerStatuses,
} from './status.ts';

/** Written out once more, and by columns: a slip in one of the two tables shows. */
const taskSources: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  PENDING: [],
  ASSIGNED: ['PENDING'],
  SCHEDULED: ['PENDING'],
  RUNNING: ['ASSIGNED', 'SCHEDULED'],
  SUCCEEDED: ['RUNNING'],
  FAILED: ['PENDING', 'ASSIGNED', 'SCHEDULED', 'RUNNING'],
  CANCELLED: ['PENDING', 'ASSIGNED', 'SCHEDULED', 'RUNNING'],
  TIMEOUT: ['PENDING', 'ASSIGNED', 'SCHEDULED', 'RUNNING'],
};

const workerSources: Readonly<Record<WorkerStatus, readonly WorkerStatus[]>> = {
  CREATING: [],
  CONNECTING: ['CREATING'],
  READY: ['CONNECTING', 'BUSY', 'DRAINING'],
  BUSY: ['READY'],
  DRAINING: ['READY', 'BUSY'],
  TERMINATING: ['READY', 'DRAINING'],
  TERMINATED: ['CREATING', 'CONNECTING', 'BUSY', 'DRAINING', 'TERMINATING'],
};

for (const from of taskStatuses) {
  for (const to of taskStatuses) {
    const isLegal = taskSources[to].includes(from);
    test(`task ${from} → ${to} is ${isLegal ? 'legal' : 'illegal'}`, () => {
      assert.equal(taskMayBecome(from, to), isLegal);
    });
  }
}

for (const from of workerStatuses) {
  for (const to of workerStatuses) {
    const isLegal = workerSources[to].includes(from);
    test(`worker ${from} → ${to} is ${isLegal ? 'legal' : 'illegal'}`, () => {
      assert.equal(workerMayBecome(from, to), isLegal);
    });
  }
}

test('17 of 64 task pairs and 14 of 49 worker pairs are legal, none of them to itself', () => {
  const count = <S>(statuses: readonly S[], may: (from: S, to: S) => boolean): number =>
    statuses.flatMap((from) => statuses.filter((to) => may(from, to))).length;
  assert.deepEqual([taskStatuses.length, count(taskStatuses, taskMayBecome)], [8, 17]);
  assert.deepEqual([workerStatuses.length, count(workerStatuses, workerMayBecome)], [7, 14]);
  assert.ok(taskStatuses.every((status) => !taskMayBecome(status, status)));
  assert.ok(workerStatuses.every((status) => !workerMayBecome(status, status)));
});
