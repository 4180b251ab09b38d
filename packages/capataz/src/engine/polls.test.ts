import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dice } from '../testing/sim/dice.ts';
import { attemptOf, oneTask, startWorld, type World } from './fixtures.ts';

/** Whether a promise has been answered by now. */
async function isAnswered(world: World, answer: Promise<unknown>): Promise<boolean> {
  let answered = false;
  answer.then(
    () => {
      answered = true;
    },
    () => undefined,
  );
  await world.settle();
  return answered;
}

test('A-32: a task that waits is returned at once', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const id = await world.create('one-task');
  const worker = await world.worker('w1');
  const [task] = await worker.poll();
  assert.equal(task?.jobId, id);
  assert.equal(world.clock.steady(), 0);
});

test('A-32: a task that arrives while a poll waits is delivered at once', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const poll = worker.poll();
  await world.advance(29_000);
  assert.equal(await isAnswered(world, poll), false);
  const id = await world.create('one-task');
  const [task] = await poll;
  assert.equal(task?.jobId, id);
  assert.equal(world.clock.steady(), 29_000);
});

test('A-32: a poll for which nothing comes ends with nothing after its timeout', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const poll = worker.poll({ timeoutMs: 5_000 });
  await world.advance(4_999);
  assert.equal(await isAnswered(world, poll), false);
  await world.advance(1);
  assert.deepEqual(await poll, []);
});

test('A-32: who has not registered is told so', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const unknown = world.engine.workers.poll('w2', { max: 1, timeoutMs: 0 });
  await assert.rejects(unknown, { code: 'WORKER_NOT_FOUND' });
  await assert.rejects(world.engine.workers.heartbeat('w2', {}), { code: 'WORKER_NOT_FOUND' });
  assert.deepEqual(await worker.beat(), []);
});

test('A-33 B-015: a poll that was aborted before swallows no task; the live poll has it', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const gone = new AbortController();
  const dead = worker.poll({ signal: gone.signal });
  await world.settle();
  gone.abort();
  const live = worker.poll();
  const id = await world.create('one-task');
  const [task] = await live;
  assert.equal(task?.jobId, id);
  assert.deepEqual(await dead, []);
  assert.equal((await world.task(id)).attempts, 1);
});

test('A-33 B-015 S-17: tasks of a poll aborted meanwhile come back uncounted, in one commit', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const gone = new AbortController();
  const dead = worker.poll({ signal: gone.signal });
  await world.settle();
  const release = world.stopAt('commit');
  const created = world.create('one-task');
  await world.settle();
  gone.abort();
  release();
  const id = await created;
  assert.deepEqual(await dead, []);
  const { failures, lostRuns, status } = await world.task(id);
  assert.deepEqual({ failures, lostRuns, status }, { failures: 0, lostRuns: 0, status: 'PENDING' });
  assert.equal(await world.taskSteps(id), 'PENDING ASSIGNED FAILED PENDING');
  const [failed] = await world.entries(id, 'task_failed');
  assert.equal(failed?.reason, 'not_delivered');
  assert.equal((await worker.takeOne()).jobId, id);
});

test('A-33: a reply that was cut goes at once to the poll that is waiting', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const [first, second] = [await world.worker('w1'), await world.worker('w2')];
  const id = await world.create('one-task');
  const task = await first.takeOne();
  const live = second.poll();
  await world.settle();
  await world.engine.workers.undelivered('w1', [task]);
  const [again] = await live;
  assert.equal(again?.jobId, id);
  assert.equal(again?.lostRuns, 0);
  assert.equal((await first.report(task)).type, 'ignored');
});

test('B-017: 1,000 rounds of a poll and a job within 5 ms of each other, delivered at once', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const dice = new Dice(17);
  const worker = await world.worker('w1');
  for (let round = 0; round < 1_000; round += 1) {
    const inMs = (): Promise<void> =>
      new Promise((resolve) => world.clock.after(dice.between(0, 5), resolve));
    const slowMs = dice.between(0, 3);
    const release = world.stopAt('commit');
    world.clock.after(slowMs, release);
    const began = world.clock.steady();
    const got = inMs()
      .then(() => worker.poll())
      .then((tasks) => ({ tasks, afterMs: world.clock.steady() - began }));
    const created = inMs().then(() => world.create('one-task'));
    await world.advance(20);
    const id = await created;
    assert.ok(await isAnswered(world, got), `round ${round}: the poll sleeps though work is there`);
    const { tasks, afterMs } = await got;
    assert.deepEqual(
      tasks.map(({ jobId }) => jobId),
      [id],
    );
    assert.ok(afterMs <= 10, `round ${round}: delivered after ${afterMs} ms`);
    for (const task of tasks) await worker.report(task);
  }
});

test('B-017: a poll that parks while the commit of a job is under way is woken by it', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const release = world.stopAt('commit');
  const created = world.create('one-task');
  await world.settle();
  const poll = worker.poll();
  await world.settle();
  release();
  const id = await created;
  assert.ok(await isAnswered(world, poll), 'the poll sleeps though work is there');
  assert.equal((await poll)[0]?.jobId, id);
});

test('B-017: what is queued while a claim comes back empty is claimed by the same poll', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  await world.engine.jobs.cancel(await world.create('one-task'), 'tester', 'an empty class');
  const release = world.stopAnswerOf('commit');
  const poll = worker.poll();
  await world.settle();
  const id = await world.create('one-task');
  assert.equal((await world.task(id)).status, 'PENDING');
  release();
  assert.ok(await isAnswered(world, poll), 'the poll sleeps though work is there');
  assert.equal((await poll)[0]?.jobId, id);
});

test('S-40: a dispatch that meets a waiting poll is assigned in its own commit', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const poll = worker.poll();
  await world.settle();
  const before = world.commits.length;
  await world.create('one-task');
  assert.equal((await poll).length, 1);
  assert.equal(world.commits.length - before, 1);
});

test('S-40: results and the next tasks share one commit, and the answers keep the order', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: 2, batch: true });
  const ids = [];
  for (let number = 0; number < 5; number += 1) ids.push(await world.create('one-task'));
  const [first, second] = await worker.take(2);
  assert.ok(first !== undefined && second !== undefined);
  const before = world.commits.length;
  const { answers, tasks } = await worker.reportAll(
    [
      [second, {}],
      [first, {}],
    ],
    3,
  );
  assert.deepEqual(
    answers.map(({ type }) => type),
    ['accepted', 'accepted'],
  );
  assert.deepEqual(
    tasks.map(({ jobId }) => jobId),
    ids.slice(2),
  );
  assert.equal(world.commits.length - before, 1);
});

test('S-40 S-19: answers keep the order of the reports, refused ones among them', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: 3, batch: true });
  for (let number = 0; number < 2; number += 1) await world.create('one-task');
  const [first, second] = await worker.take(2);
  assert.ok(first !== undefined && second !== undefined);
  await worker.report(first);
  const { answers } = await worker.reportAll(
    [
      [first, {}],
      [second, {}],
      [second, {}],
    ],
    0,
  );
  assert.deepEqual(answers, [
    { type: 'ignored', reason: 'job_already_terminated' },
    { type: 'accepted', transition: 'success_transition' },
    { type: 'ignored', reason: 'job_already_terminated' },
  ]);
});

test('S-40: a batching worker may hold four times its slots, and no more', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: 2, batch: true });
  for (let number = 0; number < 12; number += 1) await world.create('one-task');
  assert.equal((await worker.take(40)).length, 8);
  assert.equal((await worker.take(40)).length, 0);
});

test('S-42: a backlog that nobody here fits costs a poll nothing: no claim is issued', async () => {
  const world = await startWorld({ blueprints: [oneTask({}, { skill: 'rare' })] });
  for (let number = 0; number < 20; number += 1) await world.create('one-task');
  const worker = await world.worker('w1');
  const before = world.commits.length;
  for (let number = 0; number < 10; number += 1) assert.deepEqual(await worker.take(), []);
  assert.equal(world.commits.length, before);
});

test('S-38: READY while a slot is free, BUSY when none is', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: 2 });
  const status = async (): Promise<string | undefined> =>
    (await world.workerState('w1'))?.worker.status;
  for (let number = 0; number < 2; number += 1) await world.create('one-task');
  const task = await worker.takeOne();
  assert.equal(await status(), 'READY');
  await worker.takeOne();
  assert.equal(await status(), 'BUSY');
  await worker.report(task);
  assert.equal(await status(), 'READY');
});

test('S-38: no assignment beyond the capacity, however many polls wait', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  const polls = [worker.poll(), worker.poll(), worker.poll()];
  await world.settle();
  await world.engine.jobs.create(
    Array.from({ length: 3 }, () => ({ blueprint: 'one-task', client: 'client-1', input: {} })),
  );
  await world.settle();
  assert.equal((await world.workerState('w1'))?.load, 1);
  assert.equal(worker.holding.size, 1);
  await world.advance(30_000);
  const got = (await Promise.all(polls)).flat();
  assert.equal(got.length, 1);
});

test('S-38: claims that are under way at once keep within the capacity too', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: 2 });
  for (let number = 0; number < 5; number += 1) await world.create('one-task');
  const release = world.stopAt('commit');
  const polls = [worker.poll({ max: 2 }), worker.poll({ max: 2 }), worker.poll()];
  await world.settle();
  release();
  await world.advance(30_000);
  assert.equal((await Promise.all(polls)).flat().length, 2);
  assert.equal((await world.workerState('w1'))?.load, 2);
});

test('S-38: stale reports make no room', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  for (let number = 0; number < 4; number += 1) await world.create('one-task');
  const first = await worker.takeOne();
  await worker.report(first);
  await worker.takeOne();
  const { tasks } = await worker.reportAll([[first, {}]], 3);
  assert.deepEqual(tasks, []);
  assert.equal((await world.workerState('w1'))?.load, 1);
});

test('S-38: a poll that waits for a free slot is served as soon as there is one', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1');
  for (let number = 0; number < 2; number += 1) await world.create('one-task');
  const task = await worker.takeOne();
  const poll = worker.poll();
  await world.advance(1_000);
  await worker.report(task);
  assert.ok(await isAnswered(world, poll), 'the poll sleeps though there is a slot and work');
  assert.equal((await poll).length, 1);
});

test('A-26 S-38: a draining worker gets nothing more and may finish what it holds', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: 3 });
  await world.create('one-task');
  const task = await worker.takeOne();
  const other = await world.worker('w2');
  const poll = worker.poll();
  await world.settle();
  await world.engine.workers.drain('w1');
  assert.deepEqual(await poll, []);
  await world.create('one-task');
  assert.deepEqual(await worker.take(), []);
  await worker.beat({ status: 'idle' });
  assert.deepEqual(await worker.take(), []);
  assert.deepEqual((await worker.reportAll([], 1)).tasks, []);
  assert.equal((await world.workerState('w1'))?.worker.status, 'DRAINING');
  assert.equal((await worker.report(task)).type, 'accepted');
  assert.equal((await other.take()).length, 1);
});

test('A-26: only a worker with the skill and the requirements gets the task', async () => {
  const world = await startWorld({
    blueprints: [
      oneTask({
        requirements: {
          devices: [{ type: 'gpu', properties: { vram_gb: 16 } }],
          properties: { regions: ['north', 'south'] },
          artifacts: [{ name: 'model-a', version: '2' }],
          software: { ffmpeg: 'any' },
        },
      }),
    ],
  });
  const fits = {
    devices: [{ type: 'gpu', model: 'G', properties: { vram_gb: 24 } }],
    properties: { regions: ['south'] },
    artifacts: [{ name: 'model-a', version: '2' }],
    software: { ffmpeg: '7' },
  };
  const id = await world.create('one-task');
  const wrong = {
    skill: { ...fits, skills: ['other'] },
    vram: { ...fits, devices: [{ type: 'gpu', model: 'G', properties: { vram_gb: 8 } }] },
    list: { ...fits, properties: { regions: ['west'] } },
    version: { ...fits, artifacts: [{ name: 'model-a', version: '1' }] },
    software: { ...fits, software: {} },
  };
  for (const [name, offer] of Object.entries(wrong)) {
    const worker = await world.worker(name, { offer });
    assert.deepEqual(await worker.take(), [], name);
  }
  const worker = await world.worker('fits', { offer: fits });
  assert.equal((await worker.takeOne()).jobId, id);
});

test('A-26: skills that a heartbeat adds count from then on', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { offer: { skills: ['other'] } });
  await world.create('one-task');
  assert.deepEqual(await worker.take(), []);
  await worker.beat({ skills: ['other', 'work'] });
  assert.equal((await worker.take()).length, 1);
});

test('A-26: among several that wait the warm one gets the task, then the cheapest', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const dear = await world.worker('dear', { offer: { costPerSkill: { work: 5 } } });
  const cheap = await world.worker('cheap', { offer: { costPerSkill: { work: 1 } } });
  const warm = await world.worker('warm', { offer: { hotSkills: ['work'] } });
  const polls = [dear.poll(), cheap.poll(), warm.poll()];
  await world.settle();
  const order = [];
  for (let number = 0; number < 3; number += 1) {
    order.push((await world.task(await world.create('one-task'))).attempt?.worker);
  }
  assert.deepEqual(order, ['warm', 'cheap', 'dear']);
  await Promise.all(polls);
});

test('S-24: `full` closes the free slot of a worker without slots, and the next beat opens it', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w1', { slots: null });
  for (let number = 0; number < 2; number += 1) await world.create('one-task');
  assert.equal((await worker.take()).length, 1);
  await worker.beat({ status: 'full' });
  assert.deepEqual(await worker.take(), []);
  const poll = worker.poll();
  await world.advance(1_000);
  await worker.beat({ status: 'idle' });
  assert.ok(await isAnswered(world, poll), 'the poll sleeps though it was opened again');
  assert.equal((await poll).length, 1);
});

test('B-097 S-19: a report for the attempt of another worker is refused and recorded', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const [owner, thief] = [await world.worker('w1'), await world.worker('w2')];
  const id = await world.create('one-task');
  const task = await owner.takeOne();
  const reports = [
    {},
    { error: { code: 'PERMANENT_ERROR', message: 'ha' } },
    { handedBack: 'started' },
    { handedBack: 'not_started' },
  ] as const;
  for (const report of reports) {
    assert.deepEqual(await thief.report(task, report), {
      type: 'ignored',
      reason: 'worker_mismatch',
    });
  }
  const refused = await world.entries(id, 'report_refused');
  assert.deepEqual(
    refused.map(({ worker, reason }) => [worker, reason]),
    reports.map(() => ['w2', 'worker_mismatch']),
  );
  assert.equal((await world.task(id)).attempt?.id, attemptOf(task));
  assert.equal((await world.workerState('w1'))?.load, 1);
  assert.equal((await owner.report(task)).type, 'accepted');
});

test('A-32: a stop ends every open poll with nothing', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const [idle, busy] = [await world.worker('w1'), await world.worker('w2')];
  await world.create('one-task');
  await busy.takeOne();
  const polls = [idle.poll(), busy.poll()];
  await world.settle();
  await world.engine.stop({ drainMs: 0 });
  assert.deepEqual(await Promise.all(polls), [[], []]);
});
