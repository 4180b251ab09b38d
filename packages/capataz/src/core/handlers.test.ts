/** What a handler may do, and what becomes of the job when it does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '../std/json.ts';
import { dispatch, fail, finish, sleep, transition } from './action.ts';
import type { Action } from './any-action.ts';
import type { StateDefinition } from './blueprint.ts';
import {
  aBlueprint,
  aContext,
  aJob,
  aTask,
  aWaitingJob,
  change,
  created,
  deepFrozen,
  startOn,
  statesOf,
} from './fixtures.ts';
import { type Handle, type HandlerJob, HandlerView, RunningView } from './handler.ts';
import type { Signal } from './signal.ts';

type States = Readonly<Record<string, StateDefinition<string, never>>>;

const wake: Signal = { type: 'deadline', name: 'wake', task: null };
const done = { end: true } as const;

/** What a caller without the compiler's help might return. */
function untyped(value: unknown): Action {
  return value as Action;
}

test('S-1 A-11 a chain of handles composes into one change, up to the wait it ends in', () => {
  const { job, history, tasks } = startOn({
    start: { start: true, to: ['b'], handle: () => transition('b') },
    b: { to: ['c'], handle: () => transition('c') },
    c: { to: ['done'], handle: () => dispatch('echo', { n: 1 }, { on: { success: 'done' } }) },
    done,
  });
  assert.deepEqual(statesOf(history), ['start', 'b', 'c']);
  assert.equal(job.state, 'c');
  assert.equal(job.status, 'waiting_for_worker');
  assert.equal(tasks.length, 1);
});

test('S-1 A-10 a promise from handle is an error that names blueprint and state', async () => {
  const asynchronous = untyped(async () => {
    throw new Error('nobody waits for this');
  }) as unknown as () => Action;
  const { job, history } = startOn({ start: { start: true, end: true, handle: asynchronous } });
  assert.equal(job.status, 'waiting_for_timer');
  assert.match(
    history.at(-1)?.reason ?? '',
    /blueprint "sample", state "start".* promise.* must be a run/,
  );
  // The rejection is taken: it would end the process as an unhandled one.
  await new Promise((resolve) => setImmediate(resolve));
});

test('S-1 a throw in handle still commits the signal, plus "handler failed, attempt n"', () => {
  const machine = aBlueprint({
    start: { start: true, to: ['work'], handle: () => transition('work') },
    work: {
      to: ['next'],
      handle: () => dispatch('echo', {}, { on: { success: 'next' } }),
    },
    next: {
      end: true,
      handle: () => {
        throw new Error('boom');
      },
    },
  });
  const job = aWaitingJob({ wait: { type: 'task', taskId: 'task-1', on: { success: 'next' } } });
  const decided = change(job, success({ answer: 42 }), machine);
  assert.deepEqual(decided.tasks, [
    {
      type: 'end',
      taskId: 'task-1',
      attempt: 'attempt-1',
      from: 'RUNNING',
      status: 'SUCCEEDED',
    },
  ]);
  assert.deepEqual(decided.job.data, { answer: 42 });
  assert.equal(decided.job.state, 'next');
  const failed = decided.history.at(-1);
  assert.deepEqual([failed?.type, failed?.number, failed?.reason], ['handler_failed', 1, 'boom']);
  const again = change({ ...decided.job, version: 4 }, wake, machine);
  assert.equal(again.history.at(-1)?.number, 2);
});

function success(data: JsonObject): Signal {
  const task = aTask({
    status: 'RUNNING',
    attempt: { id: 'attempt-1', number: 1, worker: 'w', incarnation: 'i', assignedAt: 0 },
  });
  return { type: 'reported', task, attempt: 'attempt-1', worker: 'w', report: { data } };
}

test('S-1 S-2 A-69 a chain is stored up to its last handler that returned', () => {
  const { job, history } = startOn({
    start: {
      start: true,
      to: ['b'],
      handle: (view) => {
        view.data.first = 'kept';
        return transition('b');
      },
    },
    b: {
      end: true,
      handle: (view) => {
        view.data.second = 'dropped';
        view.data.first = 'dropped';
        throw new Error('boom');
      },
    },
  });
  assert.deepEqual(job.data, { first: 'kept' });
  assert.deepEqual(statesOf(history), ['start', 'b']);
  assert.equal(job.state, 'b');
});

test('S-2 a draft is dropped with an action that is not allowed, too', () => {
  const { job } = startOn({
    start: {
      start: true,
      to: ['done'],
      handle: (view) => {
        view.data.seen = true;
        return transition('nowhere');
      },
    },
    done,
  });
  assert.deepEqual(job.data, {});
});

test('S-2 job.input never changes: a handler that writes to it fails', () => {
  const before = aJob({ input: { files: ['b', 'a'], nested: { n: 1 } } });
  for (const write of [
    (input: JsonObject) => Object.assign(input, { files: [] }),
    (input: JsonObject) => (input.files as string[]).sort(),
    (input: JsonObject) => Object.assign(input.nested as JsonObject, { n: 2 }),
  ]) {
    const states: States = {
      start: {
        start: true,
        end: true,
        handle: (view: HandlerJob<unknown>) => {
          write(view.input as JsonObject);
          return finish();
        },
      },
    };
    const { job, history } = change(before, created, aBlueprint(states));
    assert.deepEqual(job.input, { files: ['b', 'a'], nested: { n: 1 } });
    assert.equal(history.at(-1)?.type, 'handler_failed');
  }
});

test('S-2 what a handler keeps of its draft after it returned does not reach the job', () => {
  let kept: JsonObject = {};
  const { job } = startOn({
    start: {
      start: true,
      end: true,
      handle: (view) => {
        kept = view.data;
        kept.list = [1];
        return finish();
      },
    },
  });
  kept.list = 'changed';
  assert.deepEqual(job.data, { list: [1] });
  assert.deepEqual(job.result, { list: [1] });
});

test('S-1 job.now is the time of the decision', () => {
  const { job } = startOn(
    { start: { start: true, end: true, handle: (view) => finish(view.now) } },
    {},
    { now: 1_234_567 },
  );
  assert.equal(job.result, 1_234_567);
});

test('A-9 a handler sees its job, its client, its data stores and the trace', () => {
  const around = {
    client: aContext().client,
    stores: { prices: new Map([['a', 1]]) },
    now: 5_000,
  };
  const job = deepFrozen(
    aJob({ state: 'work', failures: 2, data: { n: 1 }, trace: '00-4bf9-00f0-01' }),
  );
  const view = new HandlerView(job, around);
  assert.deepEqual(
    [view.id, view.blueprint, view.state, view.attempt, view.correlationId, view.trace, view.now],
    ['job-1', 'sample', 'work', 3, 'correlation-1', '00-4bf9-00f0-01', 5_000],
  );
  assert.deepEqual(view.input, { files: ['a', 'b'] });
  assert.deepEqual(view.data, { n: 1 });
  assert.deepEqual(view.client, around.client);
  assert.equal(view.stores.prices, around.stores.prices);
  assert.deepEqual(view.metadata, { origin: 'test' });
  assert.deepEqual(view.attributes, { region: 'north' });
});

test('A-9 a run sees the same, and a signal to stop by', () => {
  const { signal } = new AbortController();
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const around = { client: aContext().client, stores: {}, now: 5_000 };
  const view = new RunningView(aJob(), around, {
    signal,
    log,
    steps: { run: async (_name, fn) => fn() },
    progress: () => undefined,
  });
  view.data.n = 2;
  assert.equal(view.signal, signal);
  assert.equal(view.log, log);
  assert.deepEqual(view.dataAfter(), { n: 2 });
});

test('what all jobs of a client share can be written to by no handler', () => {
  const context = aContext();
  const states: States = {
    start: {
      start: true,
      end: true,
      handle: (view) => {
        view.client.params.languages = [];
        return finish();
      },
    },
  };
  const { history } = change(aJob(), created, aBlueprint(states), context);
  assert.equal(history.at(-1)?.type, 'handler_failed');
  assert.deepEqual(context.client.params, { languages: ['en', 'de'] });
});

const noAction: readonly [title: string, returned: unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['a list of actions', [transition('done'), transition('done')]],
  ['a text', 'done'],
  ['an object of no known type', { type: 'teleport', to: 'done' }],
  ['an object without a type', { to: 'done' }],
];

for (const [title, returned] of noAction) {
  test(`A-10 S-8 ${title} in place of one action is an error that names blueprint and state`, () => {
    const { job, history } = startOn({
      start: { start: true, to: ['done'], handle: () => untyped(returned) },
      done,
    });
    assert.equal(job.status, 'waiting_for_timer');
    const reason = history.at(-1)?.reason ?? '';
    assert.match(reason, /^blueprint "sample", state "start": the handler /);
  });
}

test('A-10 an action outside to is refused, and says where it led and where it may lead', () => {
  for (const action of [
    transition('elsewhere'),
    sleep('1s', 'elsewhere'),
    dispatch('echo', {}, { on: { success: 'done', partial: 'elsewhere' } }),
    dispatch('echo', {}, { on: { success: 'done' }, retry: { then: 'elsewhere' } }),
  ]) {
    const { history, tasks } = startOn({
      start: { start: true, to: ['done'], handle: () => action },
      done,
    });
    const reason = history.at(-1)?.reason ?? '';
    assert.match(reason, /state "start".* leads to "elsewhere", .* its to: done/, action.type);
    assert.deepEqual(tasks, []);
  }
});

test('S-8 failed is an implicit edge of every state, with a state of that name and without', () => {
  const start: StateDefinition<string, never> = {
    start: true,
    to: ['done'],
    handle: () => transition('failed'),
  };
  const without = startOn({ start, done });
  assert.deepEqual([without.job.status, without.job.state], ['failed', 'failed']);
  assert.equal(without.job.error?.message, 'ended in state "failed"');
  const withState = startOn({
    start,
    done,
    failed: {
      end: true,
      handle: (view) => {
        view.data.cleaned = true;
      },
    },
  });
  assert.deepEqual([withState.job.status, withState.job.state], ['failed', 'failed']);
  assert.deepEqual(withState.job.data, { cleaned: true });
  const rescued = startOn({
    start,
    done,
    failed: { to: ['done'], handle: () => transition('done') },
  });
  assert.deepEqual([rescued.job.status, rescued.job.error], ['finished', null]);
});

test('S-8 finish and fail need no edge and end the job in its present state', () => {
  const to = ['done'];
  const finished = startOn({ start: { start: true, to, handle: () => finish({ n: 1 }) }, done });
  assert.deepEqual(
    [finished.job.status, finished.job.state, finished.job.result],
    ['finished', 'start', { n: 1 }],
  );
  const failed = startOn({
    start: { start: true, to, handle: () => fail('no way', { tried: 2 }) },
    done,
  });
  assert.deepEqual(
    [failed.job.status, failed.job.state, failed.job.result],
    ['failed', 'start', null],
  );
  assert.deepEqual(failed.job.error, {
    code: 'FAILED',
    message: 'no way',
    details: { tried: 2 },
  });
});

test('S-8 the result of a job is what finish was given, else its data', () => {
  const ended = (action: Action | undefined) =>
    startOn({ start: { start: true, end: true, handle: () => action } }, { data: { n: 1 } }).job;
  assert.deepEqual(ended(finish()).result, { n: 1 });
  assert.deepEqual(ended(undefined).result, { n: 1 });
  assert.equal(ended(finish(null)).result, null);
  assert.equal(ended(finish(0)).result, 0);
});

test('S-8 a state with end may keep its to and go on', () => {
  const { job } = startOn({
    start: { start: true, end: true, to: ['more'], handle: () => transition('more') },
    more: { end: true },
  });
  assert.deepEqual([job.status, job.state], ['finished', 'more']);
});

test('S-8 an end state that means failure fails the job', () => {
  const { job } = startOn({ start: { start: true, end: 'failed' } });
  assert.deepEqual([job.status, job.error?.code], ['failed', 'FAILED']);
});

test('B-086 data and results that JSON cannot hold fail the handler, and texts are cleaned', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  for (const value of [cycle, 10n, () => 1]) {
    const { history } = startOn({
      start: { start: true, end: true, handle: () => finish(value as never) },
    });
    assert.match(history.at(-1)?.reason ?? '', /the result holds what JSON cannot/);
  }
  const { job } = startOn({
    start: {
      start: true,
      end: true,
      handle: (view) => {
        view.data.text = 'a\0b\ud800';
        return fail('broken \udc00 by \0');
      },
    },
  });
  assert.deepEqual(job.data, { text: 'a\ufffdb\ufffd' });
  assert.equal(job.error?.message, 'broken \ufffd by \ufffd');
});

test('what weighs more than 16 Mi fails the handler that leaves it, wherever it leaves it', () => {
  const text = 'x'.repeat(1024 * 1024);
  const heavy = Array.from({ length: 16 }, () => text);
  const reasonOf = (handle: Handle): string => {
    const { job, history } = startOn({
      start: { start: true, end: true, to: ['start'], handle },
    });
    assert.deepEqual([job.data, job.result], [{}, null]);
    return history.at(-1)?.reason ?? '';
  };
  const inData: Handle = (view) => {
    view.data.heavy = heavy;
    return finish();
  };
  const on = { success: 'start' };
  assert.match(reasonOf(inData), /^job\.data holds more than 16 Mi characters/);
  assert.match(
    reasonOf(() => finish(heavy)),
    /^the result holds more/,
  );
  assert.match(
    reasonOf(() => dispatch('echo', { heavy }, { on })),
    /^params holds more/,
  );
  let shared: JsonValue = 'x';
  for (let level = 0; level < 60; level += 1) shared = [shared, shared];
  assert.match(
    reasonOf(() => finish(shared)),
    /^the result holds more/,
  );
  assert.equal(
    startOn({ start: { start: true, end: true, handle: () => finish(heavy.slice(1)) } }).job.status,
    'finished',
  );
});

test('B-086 whatever a handler throws ends up in the book as storable text', () => {
  const reasonOf = (thrown: unknown) => {
    const { history } = startOn({
      start: {
        start: true,
        end: true,
        handle: () => {
          throw thrown;
        },
      },
    });
    return history.at(-1)?.reason;
  };
  assert.equal(reasonOf(new Error('a\0\ud83d')), 'a\ufffd\ufffd');
  assert.equal(reasonOf('just text'), 'just text');
  assert.equal(reasonOf(undefined), 'undefined');
  assert.equal(reasonOf(Object.create(null)), 'a value of type object that has no text');
  assert.equal(reasonOf(Object.assign(new Error('x'), { message: 7 })), '7');
});
