import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createClient } from 'capataz/client';
import { dispatch, finish, transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { approval, child, waitFor } from '../core/wait-actions.ts';
import { createLog } from '../server/log.ts';
import { ask } from '../testing/ask.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { parkedBlueprint } from '../testing/parked-blueprint.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { removeFolder, runIn, temporaryFolder } from './fixtures/context.ts';

const folder = temporaryFolder();
after(() => removeFolder(folder));

/** Does a bit of everything: fails once, emits, dispatches, asks, waits, starts a child. */
const busy = blueprint({
  name: 'busy',
  version: 1,
  states: {
    begin: {
      start: true,
      to: ['listen'],
      retry: { max: 3, base: '1s', jitter: 0 },
      handle: (job) => {
        job.emit('topic', 'begun', null);
        job.emit('topic', 'unwanted', null);
        if (job.attempt === 1) throw new Error('not yet');
        return transition('listen');
      },
    },
    listen: {
      to: ['work'],
      run: async (job) => {
        job.log.info('it listens');
        return transition('work');
      },
    },
    work: {
      to: ['ask'],
      handle: () => dispatch('work', {}, { on: { success: 'ask' } }),
    },
    ask: {
      to: ['wait'],
      handle: () => approval({ message: 'Go on?', on: { approved: 'wait', rejected: 'failed' } }),
    },
    wait: {
      to: ['delegate'],
      handle: () => waitFor({ on: { go: 'delegate', timeout: 'failed' }, deadline: '1d' }),
    },
    delegate: { to: ['done'], handle: () => child('quick', {}, { on: { success: 'done' } }) },
    done: { end: true },
    failed: { end: 'failed' },
  },
});
const quick = blueprint({
  name: 'quick',
  version: 1,
  states: { go: { start: true, end: true, handle: () => finish({}) } },
});

/** A life of a job, with everything that may go wrong in between. @returns its id */
async function live({ url, clock, store }: ServedEngine): Promise<string> {
  const client = createClient({ url });
  const { jobId: id } = await client.jobs.start('busy', {}, { correlationId: 'demo-1' });
  await client.jobs.start('parked', {}, { correlationId: 'other' });
  await clock.advance(1_000);
  const report = async (body: object): Promise<void> => {
    await ask(url, 'POST /_worker/workers/register', {
      body: { worker_id: 'w1', supported_skills: ['work'] },
    });
    const { json } = await ask(url, 'GET /_worker/workers/w1/tasks/next?timeout=0');
    const { job_id, task_id } = json as { job_id: string; task_id: string };
    await ask(url, 'POST /_worker/tasks/result', {
      body: { job_id, task_id, worker_id: 'w1', ...body },
    });
  };
  await report({ status: 'failure', error: { code: 'TRANSIENT_ERROR', message: 'tired' } });
  await clock.advance(60_000);
  await report({ status: 'success' });
  await client.approvals.approve(id);
  await client.jobs.signal(id, 'go');
  await clock.advance(3_600_000);
  assert.equal((await store.job(id))?.status, 'finished');
  return id;
}

test('H-36 one command shows every entry, event and line of the log of a correlation id, none missing', async () => {
  const clock = new VirtualClock();
  let text = '';
  const to = {
    write: (line: string) => {
      text += line;
    },
  };
  await using served = await serveEngine({
    blueprints: [busy, quick, parkedBlueprint, echoBlueprint],
    clock,
    log: createLog({ level: 'debug', to, clock }),
    sink: {
      publish: async ({ name }) => {
        if (name === 'unwanted') throw new Error('nobody wants it');
      },
      pausedForMs: () => null,
    },
  });
  const id = await live(served);
  const file = join(folder, 'server.log');
  const odd = { time: 'yesterday', level: 'info', message: 'x', correlation: 'demo-1' };
  writeFileSync(file, `\ufeffa line of another program\n${JSON.stringify(odd)}\n${text}`);

  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const jobs = await served.store.jobs({ limit: 99 });
  const linkOf = new Map(jobs.map((job) => [job.id, job.correlationId]));
  assert.equal(jobs.length, 3);
  for (const line of lines) {
    if (line.job !== undefined) assert.equal(line.correlation, linkOf.get(line.job), line.message);
  }

  const args = ['trace', 'demo-1', '--log', file, '--url', served.url];
  const shown = await runIn(folder, [...args, '--json']);
  const trace = JSON.parse(shown.stdout);
  const own = jobs.filter(({ correlationId }) => correlationId === 'demo-1');
  assert.deepEqual(
    trace.jobs.map((job: { id: string }) => job.id).toSorted(),
    own.map((job) => job.id).toSorted(),
  );
  const books = await Promise.all(own.map((job) => served.store.history(job.id, 0, 999)));
  assert.equal(trace.history.length, books.flat().length);
  const types = new Set(trace.history.map(({ type }: { type: string }) => type));
  for (const type of ['handler_failed', 'event_emitted', 'task_failed', 'approval_decided'])
    assert.ok(types.has(type), type);
  assert.partialDeepStrictEqual(trace.dead_letters, [{ job_id: id, name: 'unwanted', tries: 6 }]);
  assert.equal(
    trace.log.length,
    lines.filter(({ correlation }) => correlation === 'demo-1').length,
  );
  const messages = trace.log.map(({ message }: { message: string }) => message);
  for (const message of ['a handler failed', 'it listens', 'a decision came in', 'a task ended'])
    assert.ok(messages.includes(message), message);

  const { stdout } = await runIn(folder, args);
  assert.match(
    stdout,
    /^job \S+ {2}quick {2}finished in go\njob \S+ {2}busy {2}finished in done\n/,
  );
  assert.match(stdout, /event_emitted +job \S+ {2}begun to topic {2}event \S+\n/);
  assert.match(stdout, /dead_letter {2}unwanted \S+: nobody wants it\n/);
  assert.match(stdout, /log warn +a handler failed job="/);
});

test('a trace of nothing says so, and a log that is none is named', async () => {
  await using served = await serveEngine({ blueprints: [quick] });
  const url = ['--url', served.url];
  const { stdout } = await runIn(folder, ['trace', 'nobody', ...url]);
  assert.equal(stdout, 'nothing has the correlation id nobody\n');
  const file = join(folder, 'pretty.log');
  writeFileSync(file, 'INFO hello\n');
  const pretty = await runIn(folder, ['trace', 'nobody', '--log', file, ...url]);
  assert.equal(pretty.code, 2);
  assert.match(pretty.stderr, /pretty\.log: no line is JSON; set CAPATAZ_LOG_FORMAT=json/);
  const gone = await runIn(folder, ['trace', 'nobody', '--log', join(folder, 'gone'), ...url]);
  assert.match(gone.stderr, /--log \S+gone: ENOENT/);
});
