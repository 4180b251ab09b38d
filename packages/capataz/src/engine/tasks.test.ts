import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import type { JsonValue } from '../std/json.ts';
import type { Store } from '../store/contract.ts';
import { attemptOf, oneTask, startWorld, storeWith } from './fixtures.ts';

test('S-17: no commit leaves a task in the middle of a retry, and no read sees one', async () => {
  const seen = new Set<string>();
  const world = await startWorld({
    blueprints: [oneTask({ retry: { jitter: 0, max: 3 } })],
    // Looks after every commit, as another reader of the store would.
    wrapStore: (store: Store) =>
      storeWith(store, {
        commit: async (work: Parameters<Store['commit']>[0]) => {
          const outcome = await store.commit(work);
          const jobs = await store.jobs({ limit: 10 });
          for (const { status } of await store.tasks(jobs.map(({ id }) => id))) seen.add(status);
          return outcome;
        },
      }),
  });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  for (const afterMs of [0, 1_000, 2_000]) {
    await world.advance(afterMs);
    const task = await worker.takeOne();
    await worker.beat();
    await worker.fail(task);
  }
  await world.engine.workers.undelivered('w1', []);
  assert.deepEqual([...seen].toSorted(), ['ASSIGNED', 'PENDING', 'RUNNING']);
  assert.equal(await world.taskSteps(id), `PENDING${' ASSIGNED RUNNING FAILED PENDING'.repeat(3)}`);
});

test('S-17: a terminal status means that no retry is left', async () => {
  const world = await startWorld({ blueprints: [oneTask({ retry: { max: 1, jitter: 0 } })] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  await worker.fail(await worker.takeOne());
  await world.advance(1_000);
  await worker.fail(await worker.takeOne());
  assert.equal((await world.job(id)).status, 'quarantined');
  assert.deepEqual(await world.truth.tasks([id]), []);
  assert.match(await world.taskSteps(id), /RUNNING FAILED$|ASSIGNED FAILED$/);
});

test('S-17: a task bound to a named worker is SCHEDULED from hand-out until RUNNING', async () => {
  const world = await startWorld({ blueprints: [oneTask({ requirements: { worker: 'w2' } })] });
  const [other, named] = [await world.worker('w1'), await world.worker('w2')];
  const id = await world.create('one-task');
  assert.equal((await world.task(id)).status, 'PENDING');
  assert.deepEqual(await other.take(), []);
  const task = await named.takeOne();
  assert.equal(task.status, 'SCHEDULED');
  assert.equal((await world.task(id)).status, 'SCHEDULED');
  await named.beat();
  await named.report(task);
  assert.equal(await world.taskSteps(id), 'PENDING SCHEDULED RUNNING SUCCEEDED');
});

test('S-18: each hand-out has an attempt id of its own, the task keeps its id', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  const first = await worker.takeOne();
  await worker.fail(first);
  await world.advance(1_000);
  const second = await worker.takeOne();
  assert.equal(second.id, first.id);
  assert.notEqual(attemptOf(second), attemptOf(first));
  assert.deepEqual([first.attempts, second.attempts], [1, 2]);
  const assigned = await world.entries(id, 'task_assigned');
  assert.deepEqual(
    assigned.map(({ task, attempt }) => [task, attempt]),
    [first, second].map((task) => [task.id, attemptOf(task)]),
  );
});

test('S-19: late, stale, duplicate and unknown reports are ignored with a reason', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  const first = await worker.takeOne();
  await worker.fail(first);
  assert.deepEqual(await worker.report(first), { type: 'ignored', reason: 'stale_task' });
  await world.advance(1_000);
  const second = await worker.takeOne();
  assert.deepEqual(await worker.report(first), { type: 'ignored', reason: 'stale_task' });
  assert.equal((await world.task(id)).attempt?.id, attemptOf(second));
  await worker.report(second);
  const version = (await world.job(id)).version;
  assert.deepEqual(await worker.report(second), {
    type: 'ignored',
    reason: 'job_already_terminated',
  });
  assert.deepEqual(await worker.report({ ...second, jobId: 'no-such-job' }), {
    type: 'ignored',
    reason: 'job_not_found',
  });
  assert.equal((await world.job(id)).version, version);
  const refused = await world.entries(id, 'report_refused');
  assert.deepEqual(
    refused.map(({ attempt, worker: by, reason }) => [attempt, by, reason]),
    [
      [attemptOf(first), 'w1', 'stale_task'],
      [attemptOf(first), 'w1', 'stale_task'],
      [attemptOf(second), 'w1', 'job_already_terminated'],
    ],
  );
});

test('S-19: an attempt reported under another job changes neither of the two', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: 2 });
  const [one, two] = [await world.create('one-task'), await world.create('one-task')];
  const [first, second] = await worker.take(2);
  assert.ok(first !== undefined && second !== undefined);
  const mixed = { ...first, jobId: two };
  assert.deepEqual(await worker.report(mixed), { type: 'ignored', reason: 'stale_task' });
  assert.equal((await world.task(one)).attempt?.id, attemptOf(first));
  assert.equal((await world.workerState('w1'))?.load, 2);
  assert.equal((await worker.report(first)).type, 'accepted');
  assert.equal((await worker.report(second)).type, 'accepted');
});

test('B-004 S-19: a cancelled job stays cancelled, whatever its worker reports later', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  const task = await worker.takeOne();
  await world.advance(5_000);
  await world.engine.jobs.cancel(id, 'tester', 'enough');
  await world.advance(15_000);
  assert.deepEqual(await worker.report(task, { data: { v: 1 } }), {
    type: 'ignored',
    reason: 'job_cancelled',
  });
  await world.advance(600_000);
  const job = await world.job(id);
  assert.deepEqual([job.status, job.state, job.result], ['cancelled', 'ask', null]);
  const [refused] = await world.entries(id, 'report_refused');
  assert.equal(refused?.reason, 'job_cancelled');
  await assert.rejects(world.engine.jobs.cancel(id, 'tester', 'again'), {
    code: 'ALREADY_FINAL',
    details: { reason: 'job_already_terminated', status: 'cancelled' },
  });
});

const twoWays = blueprint({
  name: 'two-ways',
  version: 1,
  states: {
    ask: {
      start: true,
      to: ['done', 'maybe'],
      handle: () =>
        dispatch(
          'work',
          {},
          {
            on: { success: 'done', maybe: 'maybe', TRANSIENT_ERROR: 'maybe' },
            retry: { jitter: 0 },
          },
        ),
    },
    maybe: { end: true },
    done: { end: true },
  },
});

test('S-20: without an error the status is looked up, success by default, else it fails', async () => {
  const world = await startWorld({ blueprints: [twoWays] });
  const worker = await world.worker('w1');
  const cases = [
    [undefined, 'finished', 'done', 'success_transition'],
    ['success', 'finished', 'done', 'success_transition'],
    ['maybe', 'finished', 'maybe', 'success_transition'],
    ['no-such', 'failed', 'failed', 'unhandled_status_failure'],
    ['toString', 'failed', 'failed', 'unhandled_status_failure'],
    ['cancelled', 'failed', 'failed', 'cancelled_handled'],
  ] as const;
  for (const [status, jobStatus, state, transition] of cases) {
    const id = await world.create('two-ways');
    const answer = await worker.report(
      await worker.takeOne(),
      status === undefined ? {} : { status },
    );
    assert.deepEqual(answer, { type: 'accepted', transition });
    const job = await world.job(id);
    assert.deepEqual([job.status, job.state], [jobStatus, state], `status ${status}`);
  }
});

test('S-20 A-19: with an error the class rule decides, whatever status and `on` say', async () => {
  const world = await startWorld({ blueprints: [twoWays] });
  const worker = await world.worker('w1');
  const id = await world.create('two-ways');
  const error = { code: 'TRANSIENT_ERROR', message: 'no luck' };
  const answer = await worker.report(await worker.takeOne(), { status: 'success', error });
  assert.deepEqual(answer, { type: 'accepted', transition: 'failure_handled' });
  assert.equal((await world.task(id)).failures, 1);
});

for (const code of ['TRANSIENT_ERROR', 'TIMEOUT_ERROR', 'NEVER_HEARD_OF']) {
  test(`A-19: ${code} is retried three times with growing waits, then quarantined`, async () => {
    const world = await startWorld({ blueprints: [oneTask()] });
    const worker = await world.worker('w1');
    const id = await world.create('one-task');
    for (const waitMs of [1_000, 2_000, 4_000]) {
      await worker.fail(await worker.takeOne(), code);
      await world.advance(waitMs - 1);
      assert.deepEqual(await worker.take(), [], `taken before ${waitMs} ms`);
      await world.advance(1);
    }
    await worker.fail(await worker.takeOne(), code);
    const job = await world.job(id);
    assert.deepEqual([job.status, job.error], ['quarantined', { code, message: 'no luck' }]);
    await world.advance(600_000);
    assert.deepEqual(await worker.take(), []);
  });
}

test('A-20: a permanent error quarantines at once', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  await worker.fail(await worker.takeOne(), 'PERMANENT_ERROR');
  const job = await world.job(id);
  assert.deepEqual([job.status, job.error?.code], ['quarantined', 'PERMANENT_ERROR']);
});

test('A-21: an invalid input fails the job at once', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  await worker.fail(await worker.takeOne(), 'INVALID_INPUT_ERROR');
  const job = await world.job(id);
  assert.deepEqual([job.status, job.error?.code], ['failed', 'INVALID_INPUT_ERROR']);
});

test('A-25: a redrive goes on where the job stood, with a fresh count and the whole history', async () => {
  const world = await startWorld({ blueprints: [oneTask({ retry: { max: 0 } })] });
  const worker = await world.worker('w1');
  const id = await world.create('one-task');
  const first = await worker.takeOne();
  await worker.fail(first);
  const before = await world.history(id);
  assert.equal((await world.job(id)).status, 'quarantined');
  const poll = worker.poll();
  await world.settle();
  assert.equal((await world.engine.jobs.redrive(id, 'tester')).status, 'waiting_for_worker');
  const [second] = await poll;
  assert.ok(second !== undefined, 'a redriven task goes to the poll that waits');
  assert.equal(second.id, first.id);
  assert.deepEqual([second.failures, second.lostRuns], [0, 0]);
  assert.deepEqual(await worker.report(first), { type: 'ignored', reason: 'stale_task' });
  await worker.report(second);
  const after = await world.history(id);
  assert.deepEqual(after.slice(0, before.length), before);
  const [redriven] = await world.entries(id, 'job_redriven');
  assert.equal(redriven?.actor, 'tester');
  assert.equal((await world.job(id)).status, 'finished');
  await assert.rejects(world.engine.jobs.redrive(id, 'tester'), { code: 'ALREADY_FINAL' });
});

test('A-25: only a quarantined job can be redriven', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const id = await world.create('one-task');
  await assert.rejects(world.engine.jobs.redrive(id, 'tester'), { code: 'NOT_QUARANTINED' });
});

test('S-7: a held job hands nothing out, its deadlines go on, a release hands out at once', async () => {
  const world = await startWorld({ blueprints: [oneTask({ dispatchTimeout: '1m' })] });
  const worker = await world.worker('w1');
  const [id, late] = [await world.create('one-task'), await world.create('one-task')];
  await world.engine.jobs.hold(id, 'tester');
  await world.engine.jobs.hold(late, 'tester');
  const poll = worker.poll();
  await world.advance(20_000);
  await world.engine.jobs.release(id, 'tester');
  const [task] = await poll;
  assert.equal(task?.jobId, id);
  await world.advance(41_000);
  assert.equal((await world.job(late)).error?.code, 'DISPATCH_TIMEOUT');
});

const surrogate = '\ud800';
const odd: Record<string, JsonValue> = {
  'NUL in a value': { text: 'a\u0000b' },
  'NUL in a key': { 'a\u0000b': 1 },
  'a lone surrogate': { text: surrogate, [surrogate]: true },
  // As the parser of a body gives it, a member of that name is an own one.
  'a prototype': JSON.parse('{"__proto__": {"polluted": true}}'),
  'beyond 53 bits': JSON.parse('{"big": 9007199254740993, "huge": 1e999}'),
  'no object': ['a', 1, null],
  'a long text': { text: 'x'.repeat(1_000_000) },
  'members of every object': { constructor: 1, toString: 'x', hasOwnProperty: null },
};

for (const [name, data] of Object.entries(odd)) {
  test(`B-086: a result with odd data (${name}) ends its job`, async () => {
    const world = await startWorld({ blueprints: [oneTask()] });
    const worker = await world.worker('w1');
    const id = await world.create('one-task');
    const answer = await worker.report(await worker.takeOne(), { data });
    assert.equal(answer.type, 'accepted');
    assert.equal((await world.job(id)).status, 'finished');
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
    assert.deepEqual(world.errors, []);
  });
}

for (const [name, text] of [
  ['NUL', 'a\u0000b'],
  ['a lone surrogate', surrogate],
  ['5 MB', 'x'.repeat(5_000_000)],
  ['nothing', ''],
] as const) {
  test(`B-086: an error with odd text (${name}) is recorded and its job goes on`, async () => {
    const world = await startWorld({ blueprints: [oneTask({ retry: { max: 1, jitter: 0 } })] });
    const worker = await world.worker('w1');
    const id = await world.create('one-task');
    const error = { code: text, message: text, details: { [text]: text } };
    await worker.report(await worker.takeOne(), { error });
    assert.equal((await world.task(id)).failures, 1);
    await world.advance(1_000);
    await worker.report(await worker.takeOne(), { error });
    assert.equal((await world.job(id)).status, 'quarantined');
    assert.deepEqual(world.errors, []);
  });
}

test('B-086: a status with odd text leads to failed', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  for (const status of ['', 'a\u0000b', surrogate, '__proto__', 'constructor']) {
    const id = await world.create('one-task');
    assert.equal((await worker.report(await worker.takeOne(), { status })).type, 'accepted');
    assert.equal((await world.job(id)).status, 'failed');
  }
});
