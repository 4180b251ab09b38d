import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorker, type Handler, PermanentError, result } from 'capataz/worker';
import type { ResultBody } from '../protocol/worker-api.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import { accepted, bodies, last, startWorker, taskBody } from './fixtures/scripted-server.ts';

test('the same attempt delivered twice runs once', async () => {
  let runs = 0;
  const skills = {
    work: () => {
      runs += 1;
      return new Promise<null>(() => {});
    },
  };
  const { server } = await startWorker(new VirtualClock(), { skills });
  await last(server.polls).answer([taskBody(1), taskBody(1)]);
  await last(server.polls).answer([taskBody(1)]);
  assert.equal(runs, 1);
});

test('the signal aborts at the deadline, whatever the clock of the worker says', async () => {
  const { server, clock, running } = await startWorker(new VirtualClock());
  clock.step(-86_400_000);
  await last(server.polls).answer([taskBody(1, { timestamp: 1_000, deadline: 1_010 })]);
  const { task } = running.get('attempt-1') ?? assert.fail('not begun');
  assert.equal(task.deadline?.getTime(), 1_010_000);
  await clock.advance(10_999);
  assert.equal(task.signal.aborted, false);
  await clock.advance(1);
  assert.equal(task.signal.aborted, true);
});

test('what a handler returns or throws becomes status, data and error code', async () => {
  const outcomes: Record<string, () => unknown> = {
    nothing: () => undefined,
    custom: () => result('needs_review', { page: 2 }),
    cyclic: () => {
      const value: { self?: object } = {};
      value.self = value;
      return value;
    },
    permanent: () => {
      throw new PermanentError('no such model', { model: 'x' });
    },
    range: () => {
      throw new RangeError('too far');
    },
    text: () => Promise.reject('a bare string'),
  };
  const skills = Object.fromEntries(
    Object.entries(outcomes).map(([name, outcome]): [string, Handler] => [
      name,
      () => outcome() as object,
    ]),
  );
  const { server } = await startWorker(new VirtualClock(), { skills });
  const types = [...Object.keys(outcomes), 'unknown'];
  await last(server.polls).answer(types.map((type, index) => taskBody(index, { type })));
  const sent: ResultBody[] = [];
  while (server.reports.at(-1)?.isOpen) {
    const post = last(server.reports);
    sent.push(...post.query.results);
    await post.answer(accepted(post.query.results));
  }
  const byType = new Map(
    sent.map(({ task_id, status, data, error }) => [
      types[Number(task_id.slice('attempt-'.length))],
      error === undefined ? [status, data] : [error.code, error.message, error.details],
    ]),
  );
  assert.deepEqual(byType.get('nothing'), ['success', undefined]);
  assert.deepEqual(byType.get('custom'), ['needs_review', { page: 2 }]);
  assert.equal(byType.get('cyclic')?.[0], 'PERMANENT_ERROR');
  assert.deepEqual(byType.get('permanent'), ['PERMANENT_ERROR', 'no such model', { model: 'x' }]);
  assert.deepEqual(byType.get('range'), ['TRANSIENT_ERROR', 'too far', { name: 'RangeError' }]);
  assert.deepEqual(byType.get('text'), ['TRANSIENT_ERROR', 'a bare string', undefined]);
  assert.deepEqual(byType.get('unknown'), [
    'PERMANENT_ERROR',
    'this worker has no skill "unknown"',
    undefined,
  ]);
});

test('progress: the latest word goes out', async () => {
  const { server, running } = await startWorker(new VirtualClock());
  await last(server.polls).answer(bodies(1));
  const { task } = running.get('attempt-0') ?? assert.fail('not begun');
  const { progress } = task;
  progress(0.1);
  progress(0.2);
  progress(7, 'nearly');
  await settle();
  assert.deepEqual(
    server.progress.map(({ payload }) => payload),
    [
      { progress: 0.1, message: null },
      { progress: 1, message: 'nearly' },
    ],
  );
  assert.equal(server.progress[0]?.target_task_id, 'attempt-0');
});

test('wrong options are named', () => {
  const url = 'http://127.0.0.1:1';
  const skills = { work: () => null };
  assert.throws(() => createWorker({ url, skills: {} }), /at least one skill/);
  assert.throws(() => createWorker({ url, skills, id: 'a b' }), /id "a b"/);
  assert.throws(() => createWorker({ url, skills, concurrency: 0 }), /concurrency/);
  assert.throws(() => createWorker({ url, skills, prefetch: 5 }), /prefetch/);
  assert.throws(() => createWorker({ url, skills, heartbeat: '3' }), /"3" is no duration/);
  assert.throws(() => createWorker({ url: 'ftp://x', skills }), /http/);
});
