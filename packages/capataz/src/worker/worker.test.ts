import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorker, TransportError, type Worker } from 'capataz/worker';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import {
  accepted,
  bodies,
  last,
  noAnswer,
  random,
  startWorker,
  taskBody,
  taskResult,
} from './fixtures/scripted-server.ts';

test('S-24: registration declares boot id, heartbeat interval, slots and batches', async () => {
  const { server, worker } = await startWorker(new VirtualClock(), {
    concurrency: 3,
    offer: { software: { git: '2' } },
  });
  const { query } = last(server.registrations);
  assert.equal(query.worker_id, 'w1');
  assert.deepEqual(query.supported_skills, ['work']);
  assert.deepEqual(query.installed_software, { git: '2' });
  assert.deepEqual(query.capabilities?.extra, {
    boot_id: random.id(),
    heartbeat_interval_ms: 3_000,
    slots: 3,
    batch: true,
  });
  assert.equal(worker.state, 'running');
  await worker.stop();
});

test('S-24: the default id is made of host and name, and the same after a restart', () => {
  const make = (): Worker =>
    createWorker({ url: 'http://127.0.0.1:1', name: 'gpu.1', skills: { work: () => null } });
  assert.match(make().id, /^[a-zA-Z0-9_-]+-gpu-1$/);
  assert.equal(make().id, make().id);
});

test('S-40: an idle worker keeps one poll open and begins what arrives in the same tick', async () => {
  const { server, running } = await startWorker(new VirtualClock());
  assert.deepEqual(
    server.polls.map(({ query }) => query),
    [{ max: 40, timeoutSeconds: 30 }],
  );
  await last(server.polls).answer([taskBody(1)]);
  assert.deepEqual([...running.keys()], ['attempt-1']);
  assert.equal(server.polls.length, 2);
  assert.equal(last(server.polls).query.max, 39);
  running.get('attempt-1')?.end({ sum: 3 });
  await settle();
  assert.deepEqual(last(server.reports).query, {
    results: [{ job_id: 'job-1', task_id: 'attempt-1', status: 'success', data: { sum: 3 } }],
    want: 0,
  });
  await last(server.reports).answer(accepted([taskResult(1)]));
  assert.equal(server.polls.filter(({ isOpen }) => isOpen).length, 1);
  assert.equal(server.reports.length, 1);
});

test('S-40: a busy worker polls no more; results and the wish for tasks share one post', async () => {
  const { server, running } = await startWorker(new VirtualClock(), { concurrency: 2 });
  assert.equal(last(server.polls).query.max, 8);
  await last(server.polls).answer(bodies(8));
  assert.deepEqual([...running.keys()], ['attempt-0', 'attempt-1']);
  assert.equal(server.polls.length, 1);
  running.get('attempt-0')?.end();
  await settle();
  assert.deepEqual([...running.keys()].at(-1), 'attempt-2');
  assert.equal(last(server.reports).query.want, 1);
  running.get('attempt-1')?.end();
  running.get('attempt-2')?.end();
  await settle();
  assert.equal(server.reports.length, 1, 'one post is under way at a time');
  await last(server.reports).answer(accepted([taskResult(0)], [taskBody(8)]));
  assert.deepEqual(
    last(server.reports).query.results.map(({ task_id }) => task_id),
    ['attempt-1', 'attempt-2'],
    'what came meanwhile goes together',
  );
  assert.equal(last(server.reports).query.want, 2);
  assert.equal(server.polls.length, 1);
});

test('a worker whose work has run out polls again, but not beside a post that asks for tasks', async () => {
  const { server, running } = await startWorker(new VirtualClock(), {
    concurrency: 2,
    prefetch: 1,
  });
  await last(server.polls).answer(bodies(2));
  for (const { end } of running.values()) end();
  await settle();
  assert.equal(last(server.reports).query.want, 2);
  assert.equal(server.polls.length, 1);
  await last(server.reports).answer(accepted([taskResult(0), taskResult(1)]));
  assert.equal(server.polls.length, 2);
});

test('results of one turn go together', async () => {
  const { server } = await startWorker(new VirtualClock(), { skills: { work: async () => null } });
  await last(server.polls).answer(bodies(10));
  assert.equal(server.reports[0]?.query.results.length, 10);
});

test('S-24: heartbeats name what has begun or waits for its answer, and what has not begun', async () => {
  const { server, clock, running } = await startWorker(new VirtualClock(), { concurrency: 2 });
  await last(server.polls).answer(bodies(4));
  running.get('attempt-0')?.end();
  await clock.advance(3_000);
  assert.deepEqual(last(server.beats), {
    worker_id: 'w1',
    status: 'busy',
    current_tasks: ['attempt-1', 'attempt-2', 'attempt-0'],
    prefetched_tasks: ['attempt-3'],
  });
});

test('an attempt that the server gave up is aborted, one that has not begun is dropped', async () => {
  const { server, clock, running } = await startWorker(new VirtualClock(), { concurrency: 1 });
  await last(server.polls).answer(bodies(2));
  const { task } = running.get('attempt-0') ?? assert.fail('not begun');
  const { signal } = task;
  server.cancelIds = ['attempt-0', 'attempt-1', 'attempt-of-another-time'];
  await clock.advance(3_000);
  assert.equal(signal.aborted, true);
  assert.match(String(signal.reason), /gave the attempt up/);
  server.cancelIds = [];
  await clock.advance(3_000);
  assert.deepEqual(last(server.beats).prefetched_tasks, []);
  running.get('attempt-0')?.end();
  await settle();
  assert.deepEqual([...running.keys()], ['attempt-0']);
});

test('S-24: a worker that the server has forgotten registers again under the same boot id and goes on', async () => {
  const { server, clock, running } = await startWorker(new VirtualClock());
  await last(server.polls).answer(bodies(1));
  server.health = 'unknown_worker';
  await clock.advance(3_000);
  assert.equal(server.registrations.length, 2);
  assert.deepEqual(
    server.registrations[0]?.query.capabilities?.extra,
    server.registrations[1]?.query.capabilities?.extra,
  );
  running.get('attempt-0')?.end();
  await settle();
  assert.equal(last(server.reports).query.results[0]?.task_id, 'attempt-0');
});

test('a result is sent until it is answered, and a server that is back is found within a second', async () => {
  const { server, clock, running } = await startWorker(new VirtualClock());
  await last(server.polls).answer(bodies(1));
  running.get('attempt-0')?.end();
  await settle();
  for (let refusals = 0; refusals < 30; refusals += 1) {
    const tries = server.reports.length;
    await last(server.reports).fail(noAnswer());
    await clock.advance(1_000);
    assert.equal(server.reports.length, tries + 1);
  }
  await last(server.reports).answer(accepted([taskResult(0)]));
  await clock.advance(60_000);
  assert.equal(server.reports.length, 31);
});

test('the first repetition comes within 50 ms', async () => {
  const { server, clock } = await startWorker(new VirtualClock());
  await last(server.polls).fail(noAnswer());
  assert.equal(server.polls.length, 1);
  await clock.advance(50);
  assert.equal(server.polls.length, 2);
});

test('a link that swallows heartbeats gets a new poll, and the results anew', async () => {
  const { server, clock, running } = await startWorker(new VirtualClock());
  await last(server.polls).answer(bodies(1));
  running.get('attempt-0')?.end();
  await settle();
  const [firstReport] = server.reports;
  const poll = last(server.polls);
  server.health = 'black_hole';
  await clock.advance(6_000);
  assert.equal(poll.signal.aborted, true);
  assert.equal(firstReport?.signal.aborted, true);
  assert.equal(last(server.polls).isOpen, true);
  assert.deepEqual(last(server.reports).query.results, firstReport?.query.results);
});

test('a result that the server finds invalid is singled out and ends its task for good', async () => {
  const { server } = await startWorker(new VirtualClock(), { skills: { work: async () => null } });
  await last(server.polls).answer(bodies(4));
  const invalid = new TransportError('field data is too large', { status: 413 });
  const settled: string[] = [];
  for (let posts = 0; posts < 12; posts += 1) {
    const post = server.reports.find(({ isOpen }) => isOpen);
    if (post === undefined) break;
    const isBad = post.query.results.some(
      ({ task_id, error }) => task_id === 'attempt-2' && error === undefined,
    );
    if (isBad) await post.fail(invalid);
    else {
      settled.push(...post.query.results.map(({ task_id }) => task_id));
      await post.answer(accepted(post.query.results));
    }
  }
  assert.deepEqual(settled.sort(), ['attempt-0', 'attempt-1', 'attempt-2', 'attempt-3']);
  const replaced = server.reports
    .flatMap(({ query }) => query.results)
    .find(({ error }) => error !== undefined);
  assert.deepEqual(replaced, {
    job_id: 'job-2',
    task_id: 'attempt-2',
    error: {
      code: 'PERMANENT_ERROR',
      message: 'the server refused the result: field data is too large',
    },
  });
});

test('a refused attempt is dropped and not sent again', async () => {
  const { server, clock } = await startWorker(new VirtualClock(), {
    skills: { work: async () => null },
  });
  await last(server.polls).answer(bodies(1));
  await last(server.reports).answer({
    results: [
      { status: 'refused', code: 'ATTEMPT_NOT_CURRENT', reason: 'stale_task', message: 'late' },
    ],
    tasks: [],
  });
  await clock.advance(30_000);
  assert.equal(server.reports.length, 1);
  assert.deepEqual(last(server.beats).current_tasks, []);
});

test('a poll that comes back empty at once is not repeated at once', async () => {
  const { server, clock } = await startWorker(new VirtualClock());
  await last(server.polls).answer([]);
  assert.equal(server.polls.length, 1);
  await clock.advance(50);
  assert.equal(server.polls.length, 2);
  await clock.advance(30_000);
  await last(server.polls).answer([]);
  assert.equal(server.polls.length, 3);
});
