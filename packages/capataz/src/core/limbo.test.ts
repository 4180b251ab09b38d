import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aHeldTask, aJob, aTask, aWaitingJob, leaseOffer } from './fixtures.ts';
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
