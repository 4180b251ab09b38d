import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aHeldTask, aJob, approvalWait, aTask, aWaitingJob, leaseOffer } from './fixtures.ts';
import type { Wait } from './job.ts';
import { type Causes, limbo } from './limbo.ts';
import { jobStatuses } from './status.ts';

function verdict(causes: Partial<Causes>): string | null {
  return limbo({
    job: aJob(),
    tasks: [],
    runnable: false,
    leaseEndsAt: null,
    timers: [],
    queued: [],
    watched: [],
    childIsOpen: false,
    ...causes,
  });
}

test('S-6 final, quarantined and held jobs need no cause of progress', () => {
  for (const status of jobStatuses) {
    const needsNone = ['finished', 'failed', 'cancelled', 'quarantined'].includes(status);
    assert.equal(verdict({ job: aJob({ status }) }) === null, needsNone, status);
    assert.equal(verdict({ job: aJob({ status, held: true }) }), null);
  }
});

test('S-6 a job without a wait must be runnable or leased', () => {
  const job = aJob({ status: 'running' });
  assert.match(verdict({ job }) ?? '', /no handler is runnable or leased/);
  assert.equal(verdict({ job, runnable: true }), null);
  assert.equal(verdict({ job: { ...job, lease: leaseOffer.lease }, leaseEndsAt: 1 }), null);
});

test('S-6 a job that waits for a timer needs the timer, and no other will do', () => {
  const job = aJob({ status: 'waiting_for_timer', wait: { type: 'timer', to: 'x' } });
  assert.match(verdict({ job }) ?? '', /a timer that is not set/);
  assert.match(verdict({ job, timers: [{ taskId: 'task-1', name: 'wake' }] }) ?? '', /not set/);
  assert.match(verdict({ job, timers: [{ taskId: null, name: 'ready' }] }) ?? '', /not set/);
  assert.equal(verdict({ job, timers: [{ taskId: null, name: 'wake' }] }), null);
});

test('S-6 a job that waits for a task needs it queued, watched or under a deadline', () => {
  const job = aWaitingJob();
  assert.match(verdict({ job }) ?? '', /task-1, which does not exist/);
  const tasks = [aTask()];
  assert.match(verdict({ job, tasks }) ?? '', /task-1 is PENDING, but neither queued/);
  assert.match(verdict({ job, tasks, queued: ['task-0'] }) ?? '', /neither queued/);
  assert.equal(verdict({ job, tasks, queued: ['task-1'] }), null);
  assert.equal(verdict({ job, tasks: [aHeldTask()], watched: ['task-1'] }), null);
  assert.equal(verdict({ job, tasks, timers: [{ taskId: 'task-1', name: 'ready' }] }), null);
  assert.match(verdict({ job, tasks, timers: [{ taskId: 'task-0', name: 'ready' }] }) ?? '', /but/);
});

const event: Wait = {
  type: 'event',
  on: {},
  signals: {},
  silence: null,
  poll: null,
  subscription: null,
};

test('S-6 S-32 a wait for signals needs a silence or a deadline', () => {
  const job = aJob({ status: 'waiting_for_event', wait: event });
  assert.match(verdict({ job }) ?? '', /under no deadline/);
  for (const name of ['silence', 'deadline', 'inbox'] as const) {
    assert.equal(verdict({ job, timers: [{ taskId: null, name }] }), null);
  }
  assert.match(verdict({ job, timers: [{ taskId: null, name: 'poll' }] }) ?? '', /no deadline/);
});

test('S-6 a fan-out needs branches that move, or its alarm', () => {
  const wait: Wait = { type: 'parallel', to: 'merge', count: 2 };
  const job = aJob({ status: 'waiting_for_parallel', wait });
  const [moving, stuck] = [aTask({ id: 'a' }), aTask({ id: 'b', status: 'ASSIGNED' })];
  assert.match(verdict({ job }) ?? '', /branches that do not exist/);
  assert.equal(verdict({ job, timers: [{ taskId: null, name: 'inbox' }] }), null);
  assert.equal(verdict({ job, tasks: [moving], queued: ['a'] }), null);
  assert.match(verdict({ job, tasks: [moving, stuck], queued: ['a'] }) ?? '', /task b is ASSIGNED/);
});

test('S-6 a wait for a child needs the child; one for a person needs nothing', () => {
  const wait: Wait = { type: 'child', jobId: 'child-1', on: {} };
  const job = aJob({ status: 'waiting_for_child', wait });
  assert.match(verdict({ job }) ?? '', /child child-1, which is not there/);
  assert.equal(verdict({ job, childIsOpen: true }), null);
  const person = aJob({ status: 'waiting_for_human', wait: approvalWait });
  assert.equal(verdict({ job: person }), null);
});
