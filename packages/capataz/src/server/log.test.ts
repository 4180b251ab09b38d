import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapatazError } from '../protocol/errors.ts';
import type { LogLevel } from '../std/log.ts';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { createLog } from './log.ts';

function written(format: 'json' | 'pretty', level: LogLevel = 'info') {
  const lines: string[] = [];
  const to = { write: (text: string) => lines.push(text) };
  return { lines, log: createLog({ format, level, to, clock: new VirtualClock() }) };
}

const subject = { job: 'j1', task: 't1', worker: 'w1', correlation: 'c1' };

test('A-63: a line is JSON with time, level, message, job, task, worker and correlation id', () => {
  const { lines, log } = written('json');
  const child = log.child({ job: 'j1', correlation: 'c1' });
  child.debug('below the level');
  child.warn('it came back', { task: 't1', worker: 'w1' });
  assert.equal(lines.length, 1);
  assert.deepEqual(JSON.parse(lines[0] ?? ''), {
    level: 'warn',
    time: '2026-01-01T00:00:00.000Z',
    message: 'it came back',
    ...subject,
  });
});

test('A-63: errors carry code and stack, also those that are none', () => {
  const { lines, log } = written('json');
  log.error('no', { error: new CapatazError('LIMIT', 'full') });
  log.error('no', { error: 'a text' });
  assert.partialDeepStrictEqual(JSON.parse(lines[0] ?? ''), {
    error: { message: 'full', code: 'LIMIT' },
  });
  assert.match(lines[0] ?? '', /"stack":"CapatazError: full\\n/);
  assert.partialDeepStrictEqual(JSON.parse(lines[1] ?? ''), { error: 'a text' });
});

test('A-63: on a terminal a line is one line, and a stack follows', () => {
  const { lines, log } = written('pretty');
  log.info('handed out', { ...subject, skills: ['a'] });
  log.error('broke', { error: new Error('why') });
  assert.match(
    lines[0] ?? '',
    /^\d\d:\d\d:\d\d\.000 INFO {2}handed out job=j1 task=t1 worker=w1 correlation=c1 skills=\["a"\]\n$/,
  );
  assert.match(lines[1] ?? '', /ERROR broke\nError: why\n {4}at /);
});

test('A-71: a line for people has the time of the zone, one for programs that of UTC', () => {
  const clock = new VirtualClock({ now: Date.UTC(2026, 6, 1, 22, 30) });
  const lines: string[] = [];
  const to = { write: (text: string) => lines.push(text) };
  for (const format of ['pretty', 'json'] as const)
    createLog({ format, zone: 'Europe/Berlin', to, clock }).info('hello');
  assert.match(lines[0] ?? '', /^00:30:00\.000 INFO/);
  assert.match(lines[1] ?? '', /"time":"2026-07-01T22:30:00\.000Z"/);
});

test('A-63: the line of a hand-out names job, task, attempt, worker and correlation id', async () => {
  const { lines, log } = written('json', 'debug');
  await using served = await serveEngine({ blueprints: [echoBlueprint], log });
  const { json } = await ask(served.url, 'POST /api/v1/jobs/echo', {
    headers: { 'X-Correlation-ID': 'corr-9', 'X-Client-Token': 'not-in-the-log' },
  });
  await ask(served.url, 'POST /_worker/workers/register', {
    headers: { 'X-Worker-Token': 'not-in-the-log' },
    body: { worker_id: 'w1', supported_skills: ['echo'] },
  });
  const polled = await ask(served.url, 'GET /_worker/workers/w1/tasks/next');
  const line = lines
    .map((text) => JSON.parse(text))
    .find(({ message }) => /handed out/.test(message));
  assert.partialDeepStrictEqual(line, {
    job: (json as { job_id: string }).job_id,
    attempt: (polled.json as { task_id: string }).task_id,
    worker: 'w1',
    correlation: 'corr-9',
  });
  assert.equal(typeof line.task, 'string');
  assert.doesNotMatch(lines.join(''), /not-in-the-log/);
});

test('a bug is answered INTERNAL without its text, and logged with its stack', async () => {
  const { lines, log } = written('json');
  await using served = await serveEngine({ blueprints: [echoBlueprint], log });
  served.engine.jobs.get = () => Promise.reject(new Error('the secret reason'));
  const answer = await ask(served.url, 'GET /api/v1/jobs/some-job');
  assert.equal(answer.status, 500);
  assert.partialDeepStrictEqual(answer.json, { code: 'INTERNAL' });
  assert.doesNotMatch(answer.text, /secret/);
  const line = JSON.parse(lines.find((text) => text.includes('"error"')) ?? '{}');
  assert.partialDeepStrictEqual(line, { level: 'error', job: 'some-job' });
  assert.match(line.error.stack, /the secret reason\n {4}at /);
});

test('the store being away is 503 with Retry-After, a limit says when to come back', async () => {
  await using served = await serveEngine({ blueprints: [echoBlueprint] });
  const { jobs } = served.engine;
  jobs.get = () => Promise.reject(new CapatazError('STORE_UNAVAILABLE', 'away'));
  const away = await ask(served.url, 'GET /api/v1/jobs/x');
  assert.deepEqual([away.status, away.headers.get('retry-after')], [503, '1']);
  jobs.get = () => Promise.reject(new CapatazError('LIMIT', 'full', { retry_after_ms: 2_500 }));
  const full = await ask(served.url, 'GET /api/v1/jobs/x');
  assert.deepEqual([full.status, full.headers.get('retry-after')], [429, '3']);
});
