/** Handlers that fail, are lost, go round in circles, wait, or run under a lease. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../std/json.ts';
import { dispatch, finish, retry, sleep, transition } from './action.ts';
import type { Action } from './any-action.ts';
import type { StateDefinition } from './blueprint.ts';
import {
  aBlueprint,
  aJob,
  change,
  created,
  leaseOffer,
  refusal,
  startOn,
  typesOf,
} from './fixtures.ts';
import type { Signal } from './signal.ts';

type States = Readonly<Record<string, StateDefinition<string, never>>>;

const { lease } = leaseOffer;
const wake: Signal = { type: 'deadline', name: 'wake', task: null };
const done = { end: true } as const;
const noJitter = { jitter: 0 } as const;

/** A job at the `run` handler of state `think`, under `lease`. */
function thinking(fields: Parameters<typeof aJob>[0] = {}) {
  return aJob({ version: 3, status: 'running', state: 'think', entry: 2, lease, ...fields });
}

function thinkStates(think: StateDefinition<string, never>): States {
  return { start: { start: true, to: ['think'], handle: () => transition('think') }, think, done };
}

function handled(action: Action | undefined, data: JsonObject = {}): Signal {
  return { type: 'handled', token: lease.token, action, data };
}

function looping(action: () => Action): States {
  return { start: { start: true, end: true, to: ['start'], handle: action } };
}

test('A-18 S-62 a hundred transitions without a wait are let through, one more fails the job', () => {
  const hops = (limit: number) => {
    let calls = 0;
    const handle = (): Action => {
      calls += 1;
      return calls > limit ? finish(calls) : transition('start');
    };
    return startOn(looping(handle)).job;
  };
  assert.deepEqual([hops(100).status, hops(100).result], ['finished', 101]);
  const endless = hops(101);
  assert.deepEqual([endless.status, endless.error?.code], ['failed', 'LOOP']);
  assert.match(endless.error?.message ?? '', /more than 100 transitions without a wait/);
});

test('A-18 S-62 states with a run are no waits: going round in them is an endless loop as well', () => {
  const machine = aBlueprint(
    thinkStates({ to: ['think', 'done'], run: async () => transition('think') }),
  );
  let { job } = change(thinking(), handled(transition('think')), machine, { maxTransitions: 3 });
  for (let round = 0; round < 10 && job.status === 'running'; round += 1) {
    job = change({ ...job, lease }, handled(transition('think')), machine, {
      maxTransitions: 3,
    }).job;
  }
  assert.deepEqual([job.status, job.error?.code, job.entry], ['failed', 'LOOP', 5]);
});

test('S-62 a wait sets the count back, and retries do not raise it', () => {
  const asleep = startOn(
    looping(() => sleep('1s', 'start')),
    { hops: 50, entry: 1 },
  ).job;
  assert.equal(asleep.hops, 0);
  const dispatched = startOn(
    looping(() => dispatch('echo', {}, { on: { success: 'start' } })),
    { hops: 50, entry: 1 },
  ).job;
  assert.equal(dispatched.hops, 0);
  const thrown = startOn(
    looping(() => {
      throw new Error('boom');
    }),
  );
  const machine = aBlueprint(
    looping(() => {
      throw new Error('boom');
    }),
  );
  const again = change({ ...thrown.job, version: 1 }, wake, machine).job;
  assert.deepEqual([thrown.job.hops, again.hops, again.failures], [0, 0, 2]);
});

test('A-22 S-21 a handler that throws runs 4 times, 1 s, 2 s and 4 s apart, then it is parked', () => {
  const machine = aBlueprint({
    start: {
      start: true,
      end: true,
      handle: () => {
        throw new Error('boom');
      },
    },
  });
  const delays: (number | undefined)[] = [];
  let decided = change(aJob(), created, machine);
  while (decided.job.status === 'waiting_for_timer') {
    assert.ok(delays.length < 10, 'it is run for ever');
    delays.push(decided.timers === 'keep' ? undefined : decided.timers[0]?.afterMs);
    decided = change({ ...decided.job, version: 1 }, wake, machine);
  }
  assert.deepEqual(delays, [1_000, 2_000, 4_000]);
  assert.equal(decided.job.status, 'quarantined');
  assert.deepEqual(decided.job.error, { code: 'HANDLER_FAILED', message: 'boom' });
  const [failed, parked] = decided.history;
  assert.deepEqual([failed?.type, failed?.number], ['handler_failed', 4]);
  const details = failed?.details as { stack: string } | undefined;
  assert.match(details?.stack ?? '', /^Error: boom\n +at .*handler-runs\.test\.ts/);
  assert.equal(parked?.type, 'job_quarantined');
});

test('A-22 the failures of one state are not those of the next', () => {
  const machine = aBlueprint({
    ...thinkStates({ to: ['done', 'next'], run: async () => undefined }),
    next: {
      to: ['think'],
      handle: () => {
        throw new Error('boom');
      },
    },
    done: { end: true, to: ['next'], handle: () => finish() },
  });
  const { job } = change(thinking({ failures: 3 }), handled(transition('next')), machine);
  assert.deepEqual([job.state, job.status, job.failures], ['next', 'waiting_for_timer', 1]);
});

test('A-22 a redriven job runs its handler anew, with all its retries', () => {
  let calls = 0;
  const machine = aBlueprint({
    start: {
      start: true,
      end: true,
      handle: () => {
        calls += 1;
        throw new Error('boom');
      },
    },
  });
  const parked = aJob({
    version: 5,
    status: 'quarantined',
    entry: 1,
    failures: 4,
    hops: 99,
    resume: { type: 'handler' },
    error: { code: 'HANDLER_FAILED', message: 'boom' },
  });
  const { job, history } = change(parked, { type: 'redrive', actor: 'operator-1' }, machine);
  assert.equal(calls, 1);
  assert.deepEqual([job.status, job.failures, job.error], ['waiting_for_timer', 1, null]);
  assert.equal(job.hops, 0);
  assert.deepEqual(typesOf(history), ['job_redriven', 'handler_failed']);
});

test('S-27 spent retries lead to the state that retry.then names, else to quarantine', () => {
  const states = (then?: string): States =>
    thinkStates({
      to: ['done'],
      run: async () => undefined,
      retry: { max: 0, ...(then === undefined ? {} : { then }) },
    });
  const signal: Signal = { type: 'handler_failed', token: lease.token, error: { message: 'boom' } };
  assert.equal(change(thinking(), signal, aBlueprint(states())).job.status, 'quarantined');
  assert.equal(
    change(thinking(), signal, aBlueprint(states('quarantine'))).job.status,
    'quarantined',
  );
  const led = change(thinking(), signal, aBlueprint(states('done')));
  assert.deepEqual([led.job.status, led.job.state], ['finished', 'done']);
  assert.deepEqual(typesOf(led.history), ['handler_failed', 'state_entered', 'job_finished']);
});

test('S-28 a lost lease counts like a failure and is not delayed, until the retries are spent', () => {
  const signal: Signal = { type: 'handler_lost', token: lease.token };
  const states = (then: string): States =>
    thinkStates({ to: ['done'], run: async () => undefined, retry: { max: 2, then } });
  const lost = change(thinking(), signal, aBlueprint(states('quarantine')));
  assert.deepEqual(
    [lost.job.status, lost.job.wait, lost.job.lease, lost.job.failures, lost.timers],
    ['running', null, null, 1, []],
  );
  assert.deepEqual([lost.history[0]?.type, lost.history[0]?.number], ['handler_lost', 1]);
  const last = change(thinking({ failures: 1 }), signal, aBlueprint(states('quarantine')));
  assert.deepEqual([last.job.status, last.job.failures], ['running', 2]);
  const twice = thinking({ failures: 2 });
  const parked = change(twice, signal, aBlueprint(states('quarantine')));
  assert.deepEqual(
    [parked.job.status, parked.job.error],
    ['quarantined', { code: 'HANDLER_LOST', message: 'the handler was lost 3 times' }],
  );
  assert.equal(change(twice, signal, aBlueprint(states('done'))).job.state, 'done');
});

test('S-28 a lease is taken in the commit that comes to the run, if there is one to take', () => {
  const states = thinkStates({ to: ['done'], run: async () => transition('done') });
  const offered = startOn(states, {}, { lease: leaseOffer });
  assert.deepEqual(
    [offered.job.status, offered.job.lease, offered.leaseForMs],
    ['running', lease, 10_000],
  );
  assert.equal(offered.history.at(-1)?.type, 'handler_claimed');
  const runnable = startOn(states).job;
  assert.deepEqual([runnable.status, runnable.lease], ['running', null]);
  const claimed = change(
    { ...runnable, version: 1 },
    { type: 'claimed', ...leaseOffer },
    aBlueprint(states),
  );
  assert.deepEqual([claimed.job.lease, claimed.leaseForMs], [lease, 10_000]);
});

test('S-1 the action of a run is a commit of its own, from which the chain goes on', () => {
  const machine = aBlueprint(thinkStates({ to: ['done'], run: async () => transition('done') }));
  const { job } = change(thinking(), handled(transition('done'), { n: 1 }), machine);
  assert.deepEqual(
    [job.status, job.state, job.lease, job.data],
    ['finished', 'done', null, { n: 1 }],
  );
  assert.equal(refusal(job, handled(transition('done'))), 'lease_not_current');
});

test('A-10 a run that returns nothing, or too much, failed like one that threw', () => {
  const machine = aBlueprint(thinkStates({ to: ['done'], run: async () => undefined }));
  for (const action of [
    undefined,
    [transition('done')] as unknown as Action,
    transition('elsewhere'),
  ]) {
    const { job, history } = change(thinking(), handled(action, { n: 1 }), machine);
    assert.deepEqual([job.status, job.failures, job.data], ['waiting_for_timer', 1, {}]);
    assert.match(history.at(-1)?.reason ?? '', /^blueprint "sample", state "think": /);
  }
});

test('S-63 retry stores data, waits as its class or its own after says, and counts', () => {
  const machine = aBlueprint(
    thinkStates({
      to: ['done'],
      run: async () => undefined,
      retry: { ...noJitter, classes: { throttled: { base: '30s', max: 9 } } },
    }),
  );
  const waits = (action: Action, failures = 0) => {
    const { job, timers } = change(thinking({ failures }), handled(action, { seen: 1 }), machine);
    assert.deepEqual(job.data, { seen: 1 });
    return timers === 'keep' ? [] : [job.status, timers[0]?.afterMs];
  };
  const reason = 'again';
  assert.deepEqual(waits(retry({ reason })), ['waiting_for_timer', 1_000]);
  assert.deepEqual(waits(retry({ reason, after: '7s' })), ['waiting_for_timer', 7_000]);
  assert.deepEqual(waits(retry({ reason, class: 'throttled' })), ['waiting_for_timer', 30_000]);
  assert.deepEqual(waits(retry({ reason, class: 'unheard of' })), ['waiting_for_timer', 1_000]);
  // The fourth failure: spent for most classes, and not for the one with more retries.
  assert.deepEqual(waits(retry({ reason }), 3), ['quarantined', undefined]);
  assert.deepEqual(waits(retry({ reason, class: 'throttled' }), 3), ['waiting_for_timer', 60_000]);
});

test('S-63 the class of a spent retry is the code of the error', () => {
  const machine = aBlueprint(
    thinkStates({ to: ['done'], run: async () => undefined, retry: { max: 0 } }),
  );
  const action = retry({ reason: 'too many calls', class: 'THROTTLED' });
  assert.deepEqual(change(thinking(), handled(action), machine).job.error, {
    code: 'THROTTLED',
    message: 'too many calls',
  });
});

test('S-63 the retry policy may be a function of the job', () => {
  const machine = aBlueprint(
    thinkStates({
      to: ['done'],
      run: async () => undefined,
      retry: (job) => ({ ...noJitter, base: job.options.priority > 0 ? '10s' : '20s' }),
    }),
  );
  const signal: Signal = { type: 'handler_failed', token: lease.token, error: { message: 'boom' } };
  const { options } = aJob();
  const delayMs = (priority: number) =>
    change(thinking({ options: { ...options, priority } }), signal, machine).history[0]?.delayMs;
  assert.deepEqual([delayMs(1), delayMs(0)], [10_000, 20_000]);
});

test('S-63 a retry function that throws, or gives nonsense, leaves the default rule in force', () => {
  const functions: StateDefinition<string, never>['retry'][] = [
    () => {
      throw new Error('broken rule');
    },
    () => ({ base: '-1s' }),
    () => ({ max: 0, then: 'nowhere' }),
  ];
  for (const rule of functions) {
    if (rule === undefined) continue;
    const machine = aBlueprint(
      thinkStates({ to: ['done'], run: async () => undefined, retry: rule }),
    );
    for (const signal of [
      { type: 'handler_failed', token: lease.token, error: { message: 'boom' } },
      { type: 'handler_lost', token: lease.token },
    ] as const) {
      assert.equal(change(thinking(), signal, machine).job.failures, 1, signal.type);
      const spent = change(thinking({ failures: 3 }), signal, machine);
      assert.equal(spent.job.status, 'quarantined', signal.type);
    }
  }
});

test('sleep waits for its length and goes on where it says', () => {
  const machine = aBlueprint({
    start: { start: true, to: ['done'], handle: () => sleep('3d', 'done') },
    done,
  });
  const asleep = change(aJob(), created, machine);
  assert.deepEqual(asleep.timers, [{ name: 'wake', afterMs: 3 * 86_400_000 }]);
  assert.deepEqual([asleep.job.status, asleep.job.state], ['waiting_for_timer', 'start']);
  assert.equal(change({ ...asleep.job, version: 1 }, wake, machine).job.state, 'done');
});

test('a length of time that is none fails the handler', () => {
  for (const action of [
    sleep('soon', 'done'),
    retry({ reason: 'again', after: '5' }),
    dispatch('echo', {}, { on: { success: 'done' }, resultTimeout: '10' }),
  ]) {
    const { history } = startOn({
      start: { start: true, to: ['done'], handle: () => action },
      done,
    });
    assert.match(history.at(-1)?.reason ?? '', /is no duration/, action.type);
  }
});
