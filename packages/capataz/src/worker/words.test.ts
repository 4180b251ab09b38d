/** What a worker says on its terminal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PermanentError } from 'capataz/worker';
import { listeningLog } from '../testing/listening-log.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import { last, startWorker, taskBody } from './fixtures/scripted-server.ts';

test('each failed run is a warning with skill, attempt, message and stack', async () => {
  const { log, lines } = listeningLog();
  const failure = new PermanentError('the disk is full');
  const skills = {
    work: () => Promise.reject(failure),
    odd: () => () => 'JSON has no functions',
  };
  const { server } = await startWorker(new VirtualClock(), { log, skills });
  await last(server.polls).answer([taskBody(1), taskBody(2, { type: 'odd' })]);
  await settle();
  const [thrown, returned] = lines.filter(({ level }) => level === 'warn');
  assert.equal(thrown?.message, 'skill work failed (attempt attempt-1): the disk is full');
  assert.deepEqual(thrown.fields, { job: 'job-1', attempt: 'attempt-1', error: failure });
  assert.match(returned?.message ?? '', /^skill odd failed \(attempt attempt-2\): .*JSON/);
});

test('a handler that ends because its attempt was cancelled is no failure', async () => {
  const { log, lines } = listeningLog();
  const { server, clock } = await startWorker(new VirtualClock(), {
    log,
    skills: {
      work: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    },
  });
  await last(server.polls).answer([taskBody(1)]);
  server.cancelIds = ['attempt-1'];
  await clock.advance(3_000);
  assert.deepEqual(
    lines.filter(({ level }) => level === 'warn'),
    [],
  );
});

test('a worker says that it tries again, once, and that it is connected again', async () => {
  const { log, lines } = listeningLog();
  const { server, clock } = await startWorker(new VirtualClock(), { log });
  lines.length = 0;
  server.health = 'down';
  await clock.advance(9_000);
  server.health = 'up';
  await clock.advance(3_000);
  await clock.advance(9_000);
  assert.deepEqual(
    lines.map(({ level, message }) => `${level} ${message}`),
    ['warn the heartbeat failed, trying again', 'info connected again'],
  );
});
