/** Rows, sub-states, early signals, and blueprints whose set of states is closed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapatazError } from '../protocol/errors.ts';
import { dispatch, fail, finish, transition } from './action.ts';
import { type BlueprintDefinition, blueprint, type StateDefinition } from './blueprint.ts';
import { decide } from './decide.ts';
import { aContext, aHeldTask, aJob, change, created } from './fixtures.ts';
import type { Job } from './job.ts';
import type { Signal } from './signal.ts';
import { stay, waitFor } from './wait-actions.ts';

type Extras = Partial<Pick<BlueprintDefinition<string, never>, 'early' | 'ends' | 'onStop'>>;
type States = Readonly<Record<string, StateDefinition<string, never>>>;

function machine(states: States, extras: Extras = {}) {
  return blueprint<string, never>({ name: 'closed', version: 1, states, ...extras });
}

function problemsOf(states: States, extras: Extras = {}): readonly unknown[] {
  try {
    machine(states, extras);
  } catch (error) {
    assert(error instanceof CapatazError);
    return (error.details?.problems ?? []) as unknown[];
  }
  return [];
}

const closed = machine(
  {
    WORKING: {
      start: true,
      to: ['DONE'],
      handle: () => dispatch('echo', {}, { on: { success: 'DONE' }, retry: { max: 0 } }),
    },
    DONE: { end: true },
    BROKEN: { end: 'failed' },
    STOPPED: { end: true },
    PARKED: { end: true },
  },
  { ends: { failed: 'BROKEN', cancelled: 'STOPPED', quarantined: 'PARKED' } },
);

function working(): { job: Job; task: ReturnType<typeof aHeldTask> } {
  const job: Job = { ...change(aJob({ state: 'WORKING' }), created, closed).job, version: 1 };
  assert(job.wait?.type === 'task');
  return { job, task: aHeldTask({ id: job.wait.taskId }) };
}

function reported(code: string): Signal {
  const { task } = working();
  const report = { error: { code, message: 'no' } };
  return { type: 'reported', task, attempt: 'attempt-1', worker: 'worker-1', report };
}

test('S-61 failed, cancelled and quarantined have states of the blueprint’s own', () => {
  const { job, task } = working();
  const failed = change(job, { ...reported('INVALID_INPUT_ERROR'), task } as Signal, closed);
  assert.deepEqual([failed.job.status, failed.job.state], ['failed', 'BROKEN']);
  const odd = { report: { status: 'odd' }, task } as const;
  const unknown = change(job, { ...reported(''), ...odd } as Signal, closed);
  assert.deepEqual([unknown.job.status, unknown.job.state], ['failed', 'BROKEN']);
  const cancelled = change(job, { type: 'cancel', actor: 'ana', reason: 'no' }, closed);
  assert.deepEqual([cancelled.job.status, cancelled.job.state], ['cancelled', 'STOPPED']);
  const parked = change(job, { ...reported('PERMANENT_ERROR'), task } as Signal, closed);
  assert.deepEqual([parked.job.status, parked.job.state], ['quarantined', 'PARKED']);
  const redriven = change({ ...parked.job, version: 2 }, { type: 'redrive', actor: 'ana' }, closed);
  assert.deepEqual([redriven.job.status, redriven.job.state], ['waiting_for_worker', 'WORKING']);
});

test('S-61 a job that is dismissed ends as failed, in the state for that', () => {
  const { job, task } = working();
  const parked = change(job, { ...reported('PERMANENT_ERROR'), task } as Signal, closed);
  const dismissal = { type: 'dismiss', actor: 'ana', reason: 'hopeless' } as const;
  const { job: ended, history } = change({ ...parked.job, version: 2 }, dismissal, closed);
  assert.deepEqual(
    [ended.status, ended.state, ended.error?.code],
    ['failed', 'BROKEN', 'PERMANENT_ERROR'],
  );
  assert.deepEqual(history[0], {
    type: 'job_dismissed',
    state: 'PARKED',
    reason: 'hopeless',
    actor: 'ana',
  });
});

const lone = {
  work: {
    start: true,
    to: ['done'],
    handle: () => dispatch('echo', {}, { on: { success: 'done' }, retry: { max: 0 } }),
  },
  done: { end: true },
} as const;

test('S-61 a job that is cancelled or parked says so in the commit that stops it', () => {
  const speaking = machine(lone, {
    onStop: (job, { how, reason, actor }) => {
      job.data.stopped = how;
      job.emit('topic', 'stopped', { how, reason, actor, state: job.state });
    },
  });
  const job: Job = { ...change(aJob({ state: 'work' }), created, speaking).job, version: 1 };
  assert(job.wait?.type === 'task');
  const cancelled = change(job, { type: 'cancel', actor: 'ana', reason: 'no' }, speaking);
  assert.deepEqual(
    [cancelled.job.status, cancelled.job.data],
    ['cancelled', { stopped: 'cancelled' }],
  );
  const said = { how: 'cancelled', reason: 'no', actor: 'ana', state: 'work' };
  assert.deepEqual(
    cancelled.also?.emits.map(({ name, payload }) => [name, payload]),
    [['stopped', said]],
  );
  const task = aHeldTask({ id: job.wait.taskId });
  const signal = { ...reported('PERMANENT_ERROR'), task } as Signal;
  const parked = change(job, signal, speaking);
  assert.partialDeepStrictEqual(
    parked.also?.emits.map(({ payload }) => payload),
    [{ how: 'quarantined', actor: null }],
  );
});

test('S-61 what a stopped job would say can’t keep it from being stopped', () => {
  const dumb = machine(lone, {
    onStop: (job) => {
      job.emit('topic', 'stopped', null);
      throw new Error('no words');
    },
  });
  const job: Job = { ...change(aJob({ state: 'work' }), created, dumb).job, version: 1 };
  const ended = change(job, { type: 'cancel', actor: 'ana', reason: 'no' }, dumb);
  assert.deepEqual([ended.job.status, ended.also?.emits ?? []], ['cancelled', []]);
});

test('S-61 finish and fail end the job in its present state, which may go on otherwise', () => {
  for (const [action, status] of [
    [() => finish(1), 'finished'],
    [() => fail('no'), 'failed'],
  ] as const) {
    const both = machine({
      single: { start: true, end: true, to: ['other'], handle: action },
      other: { end: true },
    });
    const { job } = change(aJob({ state: 'single' }), created, both);
    assert.deepEqual([job.status, job.state], [status, 'single']);
  }
});

test('A-3 S-61 registration refuses ends, parents and rows that name no state, and early times that are none', () => {
  const listen = { start: true, to: ['done'], handle: () => waitFor({ deadline: '1h' }) } as const;
  const done = { end: true } as const;
  assert.deepEqual(problemsOf({ listen, done }, { ends: { failed: 'nowhere' } }), [
    'ends.failed names "nowhere", which is no state',
  ]);
  assert.deepEqual(problemsOf({ listen, done }, { early: { go: '0s' } }), [
    'early.go must be a duration above zero like "1h"',
  ]);
  assert.deepEqual(problemsOf({ listen: { ...listen, on: { go: 'nowhere' } }, done }), [
    'state "listen" leads to "nowhere", which does not exist',
  ]);
  assert.deepEqual(problemsOf({ listen: { ...listen, on: { go: 5 as never } }, done }), [
    'state "listen": on.go must be a state, stay() or a function',
  ]);
  const lost = problemsOf({ listen: { ...listen, to: ['sub'] }, sub: { parent: 'nowhere' } });
  assert.match(String(lost[0]), /state "sub": its parent "nowhere" does not exist/);
});

test('S-12 a sub-state takes the rows of its parents, its own first, and may lead where they lead', () => {
  const nested = machine({
    a: { start: true, to: ['b', 'x'], on: { go: 'x', stop: 'x' }, handle: () => transition('b') },
    b: { parent: 'a', on: { go: 'y' }, handle: () => waitFor({ deadline: '1h' }) },
    c: { parent: 'b', handle: () => waitFor({ deadline: '1h' }) },
    x: { end: true },
    y: { to: ['c'], handle: () => transition('c') },
  });
  assert.deepEqual(Object.fromEntries(nested.states.get('c')?.rows ?? []), { go: 'y', stop: 'x' });
  assert.deepEqual([...(nested.states.get('c')?.to ?? [])].sort(), ['a', 'b', 'x', 'y']);
});

test('S-60 stay belongs to rows: returned by a handler it is the handler’s error', () => {
  const wrong = machine({
    single: { start: true, to: ['done'], handle: () => stay() as never },
    done: { end: true },
  });
  const { job, history } = change(aJob({ state: 'single' }), created, wrong);
  assert.equal(job.status, 'waiting_for_timer');
  assert.match(history.at(-1)?.reason ?? '', /stay, which only the row of a signal may/);
});

test('A-17 registration and run refuse a fan-out without one aggregator', () => {
  const cases: readonly [() => unknown, RegExp][] = [
    [() => ({ type: 'parallel', tasks: [{ type: 'finish' }], to: 'merge' }), /is no dispatch/],
    [() => ({ type: 'parallel', tasks: 'many' }), /without a list/],
    [() => ({ type: 'parallel', tasks: [], to: 'done' }), /is no aggregate state/],
    [
      () => ({
        type: 'parallel',
        tasks: [
          dispatch('a', {}, { on: { success: 'merge' } }),
          dispatch('a', {}, { on: { success: 'other' } }),
        ],
      }),
      /no one aggregator .*merge, other/,
    ],
  ];
  for (const [action, problem] of cases) {
    const split = machine({
      split: { start: true, to: ['merge', 'other', 'done'], handle: action as never },
      merge: { aggregate: true, to: ['done'], handle: () => transition('done') },
      other: { aggregate: true, to: ['done'], handle: () => transition('done') },
      done: { end: true },
    });
    const { history } = change(aJob({ state: 'split' }), created, split);
    assert.match(history.at(-1)?.reason ?? '', problem);
  }
});

test('an early signal is kept beside the job, which stays as it is', () => {
  const waiting = machine(
    {
      work: {
        start: true,
        to: ['done'],
        handle: () => dispatch('echo', {}, { on: { success: 'done' } }),
      },
      done: { end: true },
    },
    { early: ['go'] },
  );
  const job: Job = { ...change(aJob({ state: 'work' }), created, waiting).job, version: 1 };
  const signal: Signal = { type: 'outside', name: 'go', id: 's', data: 1, actor: 'bot' };
  const decided = decide(job, signal, waiting, aContext());
  assert(decided.type === 'change');
  assert.equal(decided.scope, 'tasks');
  assert.equal(decided.job, job);
  assert.equal(decided.also?.posts[0]?.expiresAfterMs, 24 * 3_600_000);
});
