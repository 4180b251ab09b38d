/** Workers and work between two engines on one store, as behind a balancer that knows nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '../core/job.ts';
import { CapatazError } from '../protocol/errors.ts';
import { attemptOf, oneTask, type ScriptedWorker, startTwo, type World } from './fixtures.ts';

const second = 1_000;
const heartbeatMs = 3 * second;
const exact = oneTask({ retry: { jitter: 0, base: '1ms' } });
const patient = oneTask({ retry: { jitter: 0, base: '1ms', factor: 1, max: 1_000 } });

/** News are followed at once, or after the pause that a look before has begun. */
async function heard(world: World): Promise<void> {
  await world.advance(10);
}

/** Two instances, and a worker that registered at the first one. */
async function begin(
  fields: Parameters<World['worker']>[1] = {},
  blueprint = exact,
): Promise<{ one: World; two: World; worker: ScriptedWorker; elsewhere: ScriptedWorker }> {
  const [one, two] = await startTwo({ blueprints: [blueprint] });
  const worker = await one.worker('w', { heartbeatMs, ...fields });
  await heard(one);
  return { one, two, worker, elsewhere: worker.at(two) };
}

test('A-60 two instances: a worker registers at one, polls, beats and reports at the other', async () => {
  const { one, two, elsewhere } = await begin();
  const id = await one.create('one-task');
  await heard(one);
  const task = await elsewhere.takeOne();
  assert.equal((await elsewhere.beat()).length, 0);
  assert.equal((await elsewhere.report(task)).type, 'accepted');
  assert.equal((await two.job(id)).status, 'finished');
});

test('A-60 two instances: what one handed out is reported at the other, and room is made there', async () => {
  const { one, two, worker, elsewhere } = await begin({ slots: 1, batch: true });
  const ids = await Promise.all(Array.from({ length: 6 }, () => one.create('one-task')));
  const tasks = [...(await worker.take(4))];
  assert.equal(tasks.length, 4);
  const reports = tasks.map((task) => [task, {}] as const);
  const { answers, tasks: next } = await elsewhere.reportAll(reports, 4);
  assert.deepEqual(new Set(answers.map(({ type }) => type)), new Set(['accepted']));
  tasks.push(...next);
  // What the first one still counts as held it learns from the next heartbeat.
  await worker.beat({ currentTasks: next.map(attemptOf) });
  tasks.push(...(await worker.take(4)));
  assert.equal(tasks.length, 6);
  assert.equal(new Set(tasks.map(({ jobId }) => jobId)).size, ids.length);
  assert.equal((await two.truth.counts()).queued, 0);
});

test('A-60 B-079 two instances: who reports everything at the other is not full at the first for ever', async () => {
  const { one, worker, elsewhere } = await begin({ slots: 1 });
  const reportElsewhere = async (): Promise<void> => {
    await one.create('one-task');
    const task = await worker.takeOne();
    assert.equal((await elsewhere.report(task)).type, 'accepted');
  };
  await reportElsewhere();
  const id = await one.create('one-task');
  const task = await worker.takeOne();
  assert.equal(task.jobId, id);
  // The poll is there before the report, and nothing else comes this way.
  const parked = worker.poll();
  await one.settle();
  assert.equal((await elsewhere.report(task)).type, 'accepted');
  await heard(one);
  const next = await one.create('one-task');
  await heard(one);
  assert.equal((await parked)[0]?.jobId, next);
});

test('S-36 two instances: probes whose results come to the other one make room for the next, and close the circuit', async () => {
  const { one, worker, elsewhere } = await begin({ slots: 4 }, patient);
  await Promise.all(Array.from({ length: 5 }, () => one.create('one-task')));
  const state = async (): Promise<string | undefined> =>
    (await one.workerState('w'))?.circuit.state;
  for (let loss = 1; loss <= 5; loss += 1) {
    await worker.takeOne();
    worker.holding.clear();
    await worker.register({ bootId: `after-crash-${loss}` });
    await heard(one);
  }
  assert.equal(await state(), 'open');
  worker.keepBeating();
  await one.advance(30 * second);
  let parked = worker.poll();
  for (let probe = 1; probe <= 3; probe += 1) {
    const [task] = await Promise.race([parked, heard(one).then((): readonly Task[] => [])]);
    assert.ok(task !== undefined, `probe ${probe}`);
    parked = worker.poll();
    await heard(one);
    assert.equal((await elsewhere.report(task)).type, 'accepted');
    await heard(one);
  }
  assert.equal(await state(), 'closed');
  assert.equal((await parked).length, 1);
});

test('S-25 B-079 two instances: who has reported a suspect at the other one may have the next here', async () => {
  const { one, worker, elsewhere } = await begin({ slots: 4, batch: true }, patient);
  await Promise.all(Array.from({ length: 3 }, () => one.create('one-task')));
  assert.equal((await worker.take(3)).length, 3);
  worker.holding.clear();
  await worker.register({ bootId: 'after-crash', slots: 4, batch: true });
  await heard(one);
  const first = await worker.takeOne();
  assert.equal((await elsewhere.report(first)).type, 'accepted');
  await heard(one);
  // It beats at the other one, and this one hears of the end only from the store.
  const second = await worker.takeOne();
  const parked = worker.poll();
  await one.settle();
  assert.equal((await elsewhere.report(second)).type, 'accepted');
  const third = await Promise.race([parked, heard(one).then((): readonly Task[] => [])]);
  assert.equal(third.length, 1, 'the poll that waits');
});

test('S-36 two instances: losses of what the other one handed out open the circuit here', async () => {
  const { one, two, worker, elsewhere } = await begin({ slots: 4 }, patient);
  await one.create('one-task');
  for (let loss = 1; loss <= 5; loss += 1) {
    await worker.takeOne();
    worker.holding.clear();
    await elsewhere.register({ bootId: `after-crash-${loss}` });
    await heard(one);
  }
  assert.equal((await two.workerState('w'))?.circuit.state, 'open');
});

test('A-60 two instances: who is drained at one gets nothing at the other', async () => {
  const { one, two, worker, elsewhere } = await begin();
  const parked = elsewhere.poll();
  await heard(one);
  await one.engine.workers.drain('w');
  await heard(one);
  assert.deepEqual(await parked, []);
  await one.create('one-task');
  await heard(one);
  assert.deepEqual(await elsewhere.take(), []);
  assert.equal((await two.workerState('w'))?.worker.status, 'DRAINING');
  await two.engine.workers.cancelDrain('w');
  await heard(two);
  assert.equal((await worker.take()).length, 1);
});

test('A-60 two instances: skills that a heartbeat brings to one count at the other', async () => {
  const { one, two, elsewhere } = await begin({ offer: { skills: ['other'] } });
  const parked = elsewhere.poll();
  await heard(one);
  await one.create('one-task');
  await elsewhere.at(one).beat({ skills: ['other', 'work'] });
  await heard(two);
  assert.equal((await parked).length, 1);
});

test('S-24 two instances: a new process of a worker that comes to the other takes its place at both', async () => {
  const { one, two, worker, elsewhere } = await begin();
  const id = await one.create('one-task');
  const before = await worker.takeOne();
  await elsewhere.register({ bootId: 'w-boot-2' });
  await one.advance(10);
  assert.equal((await one.truth.tasks([id]))[0]?.lostRuns, 1);
  assert.equal((await worker.report(before)).type, 'ignored');
  const after = await elsewhere.takeOne();
  assert.equal((await worker.report(after)).type, 'accepted');
  assert.equal((await two.job(id)).status, 'finished');
});

test('A-60 two instances: what is cancelled at one is stopped by the heartbeat at the other', async () => {
  const { one, elsewhere } = await begin();
  const id = await one.create('one-task');
  await heard(one);
  const task = await elsewhere.takeOne();
  await one.engine.jobs.cancel(id, 'tester', 'enough');
  assert.deepEqual(await elsewhere.beat(), [attemptOf(task)]);
});

test('S-23 two instances: a worker that beats at one is not lost to the other, and then lost once', async () => {
  const { one, two, worker, elsewhere } = await begin();
  const id = await one.create('one-task');
  await worker.takeOne();
  elsewhere.holding.add(attemptOf(await one.task(id)));
  elsewhere.keepBeating();
  await one.advance(20 * heartbeatMs);
  assert.deepEqual(await two.taskSteps(id), 'PENDING ASSIGNED RUNNING');
  elsewhere.mute();
  await one.advance(4 * heartbeatMs);
  assert.deepEqual(await two.taskSteps(id), 'PENDING ASSIGNED RUNNING FAILED PENDING');
  assert.equal((await one.task(id)).lostRuns, 1);
  assert.equal((await one.entries(id, 'task_failed')).length, 1);
  assert.deepEqual(await two.truth.workers(), []);
  await assert.rejects(elsewhere.beat(), { code: 'WORKER_NOT_FOUND' });
  await assert.rejects(worker.beat(), { code: 'WORKER_NOT_FOUND' });
});

test('S-37 two instances: a start beside a living one gives no worker up, and ends no lease', async () => {
  const { one, two, elsewhere } = await begin();
  elsewhere.keepBeating();
  const id = await one.create('one-task');
  await heard(one);
  const task = await elsewhere.takeOne();
  for (let restart = 0; restart < 5; restart += 1) {
    await one.restart();
    await one.advance(2 * second);
  }
  assert.equal((await elsewhere.at(one).report(task)).type, 'accepted');
  assert.equal((await two.job(id)).status, 'finished');
});

test('B-017 two instances: 1,000 rounds of a poll at one and a job at the other within 5 ms of each other', async () => {
  const { one, elsewhere } = await begin({ slots: 5, heartbeatMs: 1_000 * second });
  for (let round = 0; round < 1_000; round += 1) {
    const [poll, job] = [round % 6, (round * 7) % 6];
    const began = one.clock.steady();
    let delivered = Number.NaN;
    one.clock.after(poll, () => {
      void elsewhere.poll().then(async ([task]) => {
        assert.ok(task !== undefined);
        delivered = one.clock.steady() - began;
        await elsewhere.report(task);
      });
    });
    one.clock.after(job, () => void one.create('one-task'));
    await one.advance(60);
    assert.ok(delivered <= 50, `round ${round}: delivered after ${delivered} ms`);
  }
});

test('B-017 two instances: a poll that claims what the other has taken gets what that one queued since', async () => {
  const other = oneTask({ retry: { jitter: 0, base: '1ms' } }, { name: 'other', skill: 'other' });
  const [one, two] = await startTwo({ blueprints: [exact, other] });
  const there = await one.worker('there');
  const here = await two.worker('here', { offer: { skills: ['work', 'other'] } });
  await heard(one);
  // Each instance knows that something is queued, and the first hands it out.
  await two.create('one-task');
  await heard(one);
  await there.takeOne();
  const id = await one.create('other');
  await heard(one);
  const poll = here.poll();
  await one.advance(50);
  assert.equal((await poll)[0]?.jobId, id);
});

test('A-60 two instances: many polls at one and many jobs at the other all meet', async () => {
  const [one, two] = await startTwo({ blueprints: [exact] });
  const workers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => two.worker(`w${index}`)),
  );
  const polls = workers.map((worker) => worker.poll());
  await heard(one);
  const commits = two.commits.length;
  const request = { blueprint: 'one-task', client: 'client-1', input: {} };
  await one.engine.jobs.create(Array.from({ length: 40 }, () => request));
  await one.advance(second);
  const got = await Promise.all(polls.slice(0, 40));
  assert.deepEqual(new Set(got.map(({ length }) => length)), new Set([1]));
  assert.ok(two.commits.length - commits <= 12, `${two.commits.length - commits} commits`);
});

test('B-065 two instances: a create that is repeated 20 times at both makes one job', async () => {
  const [one, two] = await startTwo({ blueprints: [exact] });
  const request = { blueprint: 'one-task', client: 'client-1', input: {} };
  const idempotency = { key: 'k', bodyHash: 'h' };
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      [one, two][index % 2]?.engine.jobs.create([{ ...request, idempotency }]),
    ),
  );
  const created = answers.flat().map((answer) => {
    assert.ok(answer !== undefined && !(answer instanceof CapatazError));
    return answer;
  });
  assert.equal(new Set(created.map(({ id }) => id)).size, 1);
  assert.equal(created.filter((answer) => answer.created).length, 1);
  await one.restart();
  const otherBody = { ...request, idempotency: { key: 'k', bodyHash: 'other' } };
  const [conflict] = await one.engine.jobs.create([otherBody]);
  assert.ok(conflict instanceof CapatazError && conflict.status === 409);
  const [foreign] = await two.engine.jobs.create([{ ...otherBody, client: 'client-2' }]);
  assert.ok(foreign !== undefined && !(foreign instanceof CapatazError) && foreign.created);
});

test('A-60 two instances: who listens at one hears what is committed at the other', async () => {
  const { one, two, elsewhere } = await begin();
  const told: (string | null)[] = [];
  two.engine.events.subscribe((jobId) => told.push(jobId));
  const [first, last] = [await one.create('one-task'), await one.create('one-task')];
  await one.advance(50);
  // The first news may be of anything.
  assert.ok(told.includes(first) || told.includes(null));
  told.length = 0;
  const worker = elsewhere.at(one);
  await worker.report(await worker.takeOne());
  await one.advance(50);
  assert.deepEqual(new Set(told), new Set([first]));
  told.length = 0;
  await one.engine.jobs.cancel(last, 'tester', 'enough');
  await one.advance(50);
  assert.deepEqual(told, [last]);
});
