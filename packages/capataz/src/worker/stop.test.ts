import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorker, TransportError } from 'capataz/worker';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import {
  accepted,
  bodies,
  last,
  random,
  ScriptedServer,
  startWorker,
  taskResult,
} from './fixtures/scripted-server.ts';

test('a clean stop hands back what has not begun, waits for the rest and says good-bye', async () => {
  const { server, clock, worker, running } = await startWorker(new VirtualClock(), {
    concurrency: 1,
  });
  await last(server.polls).answer(bodies(2));
  void worker.stop();
  await settle();
  assert.equal(worker.state, 'draining');
  assert.equal(last(server.beats).status, 'draining');
  assert.deepEqual(last(server.reports).query, {
    results: [{ job_id: 'job-1', task_id: 'attempt-1', handed_back: 'not_started' }],
    want: 0,
  });
  await last(server.reports).answer(accepted([taskResult(1)]));
  running.get('attempt-0')?.end({});
  await settle();
  assert.deepEqual(last(server.reports).query.results[0]?.data, {});
  await last(server.reports).answer(accepted([taskResult(0)]));
  await worker.stopped;
  assert.equal(last(server.beats).status, 'offline');
  assert.deepEqual(last(server.beats).current_tasks, []);
  assert.equal(server.isClosed, true);
  assert.equal(clock.pending, 0, 'no alarm is left');
});

test('a task that arrives while the worker stops is handed back', async () => {
  const { server, worker } = await startWorker(new VirtualClock());
  const poll = last(server.polls);
  void worker.stop();
  await poll.answer(bodies(1));
  assert.deepEqual(last(server.reports).query.results, [
    { job_id: 'job-0', task_id: 'attempt-0', handed_back: 'not_started' },
  ]);
  await last(server.reports).answer(accepted([taskResult(0)]));
  await worker.stopped;
});

test('B-010: a stop whose drain time is shorter than the task hands the task back', async () => {
  const { server, clock, worker, running } = await startWorker(new VirtualClock(), { drain: '2s' });
  await last(server.polls).answer(bodies(1));
  const { task } = running.get('attempt-0') ?? assert.fail('not begun');
  void worker.stop();
  await clock.advance(1_999);
  assert.equal(task.signal.aborted, false);
  assert.equal(server.reports.length, 0);
  await clock.advance(1);
  assert.equal(task.signal.aborted, true);
  assert.deepEqual(last(server.reports).query.results, [
    { job_id: 'job-0', task_id: 'attempt-0', handed_back: 'started' },
  ]);
  await last(server.reports).answer(accepted([taskResult(0)]));
  await worker.stopped;
  running.get('attempt-0')?.end({});
  await settle();
  assert.equal(server.reports.length, 1, 'what the handler does afterwards counts for nothing');
});

test('a stop ends even where nobody answers any more', async () => {
  const { server, clock, worker } = await startWorker(new VirtualClock(), {
    skills: { work: async () => null },
  });
  await last(server.polls).answer(bodies(1));
  server.health = 'black_hole';
  void worker.stop();
  await clock.advance(60_000);
  assert.equal(worker.state, 'stopped');
  assert.equal(clock.pending, 0);
});

test('start waits for a server that is not there yet, and fails where it is refused for good', async () => {
  const server = new ScriptedServer();
  server.health = 'down';
  const clock = new VirtualClock();
  const options = {
    url: 'http://127.0.0.1:1',
    skills: { work: () => null },
    clock,
    random,
    transport: server,
  };
  const worker = createWorker(options);
  const start = worker.start();
  await clock.advance(5_000);
  assert.equal(worker.state, 'connecting');
  server.health = 'up';
  await clock.advance(1_000);
  await start;
  await worker.stop();

  const refusing = new ScriptedServer();
  refusing.health = 'black_hole';
  const refused = createWorker({ ...options, transport: refusing });
  const refusedStart = refused.start();
  await settle();
  const unauthorized = new TransportError('Unauthorized: unknown token', { status: 401 });
  const failed = assert.rejects(refusedStart, /unknown token/);
  await last(refusing.registrations).fail(unauthorized);
  await failed;
  assert.equal(refused.state, 'stopped');
});
