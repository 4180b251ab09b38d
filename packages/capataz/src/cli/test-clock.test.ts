/** Deadlines of weeks, on a real process whose clock is moved. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { type Client, createClient } from 'capataz/client';
import { ask } from '../testing/ask.ts';
import { removeFolder, runIn, temporaryFolder } from './fixtures/context.ts';
import { CliProcess } from './fixtures/processes.ts';

const day = 86_400_000;
const folders: string[] = [];
const processes: CliProcess[] = [];

after(() => {
  for (const { child } of processes) if (child.exitCode === null) child.kill('SIGKILL');
  folders.forEach(removeFolder);
});

const patientModule = `
import { approval, blueprint, dispatch } from 'capataz';
export default [
  blueprint({ name: 'asks', version: 1, states: {
    ask: { start: true, to: ['late', 'done'], handle: () =>
      approval({ message: 'Go?', deadline: '30d', on: { approved: 'done', timeout: 'late' } }) },
    done: { end: true },
    late: { end: true },
  } }),
  blueprint({ name: 'works', version: 1, states: {
    begin: { start: true, to: ['done', 'late'], handle: () => dispatch('later', {}, {
      delay: '25d', dispatchTimeout: '10d', on: { success: 'done', timeout: 'late' } }) },
    done: { end: true },
    late: { end: true },
  } }),
];
`;

async function serve(environment: Readonly<Record<string, string>>): Promise<[CliProcess, string]> {
  const folder = temporaryFolder({ 'blueprints/patient.ts': patientModule });
  folders.push(folder);
  const serving = new CliProcess(['serve', '--port', '0'], folder, environment);
  processes.push(serving);
  return [serving, await serving.says(/^listening on (\S+)\n/m)];
}

async function move(url: string, ms: number): Promise<void> {
  const answer = await ask(url, 'POST /_test/clock', { body: { advance_ms: ms } });
  assert.equal(answer.status, 200, answer.text);
}

async function types({ jobs }: Client, jobId: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { type } of jobs.history(jobId)) found.push(type);
  return found;
}

/** Resolves when the book has an entry of this type. */
async function entry({ jobs }: Client, jobId: string, type: string): Promise<void> {
  for await (const event of jobs.watch(jobId))
    if (event.type === 'entry' && event.entry.type === type) return;
  assert.fail(`the job ended without ${type}`);
}

/** Of all CPUs, in ms: fields 14 and 15 of proc(5), in ticks of 10 ms. */
function cpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** A poll that waits on the server: awaited in place of a length of time. */
async function emptyPoll(url: string, seconds = 1): Promise<void> {
  const body = { worker_id: 'idler', supported_skills: ['nothing'] };
  await ask(url, 'POST /_worker/workers/register', { body });
  const { status } = await ask(url, `GET /_worker/workers/idler/tasks/next?timeout=${seconds}`);
  assert.equal(status, 204);
}

async function finishTask(url: string, jobId: string): Promise<void> {
  const body = { worker_id: 'doer', supported_skills: ['later'] };
  await ask(url, 'POST /_worker/workers/register', { body });
  const polled = await ask(url, 'GET /_worker/workers/doer/tasks/next?timeout=30');
  assert.partialDeepStrictEqual(polled.json, { job_id: jobId });
  // The wire's task: only its ids are looked at.
  const { job_id, task_id } = polled.json as { job_id: string; task_id: string };
  const result = { job_id, task_id, status: 'success', data: {} };
  const headers = { 'X-Worker-ID': 'doer' };
  const answer = await ask(url, 'POST /_worker/tasks/result', { body: result, headers });
  assert.equal(answer.status, 200, answer.text);
}

test('B-046: an approval of 30 days and a task delay of 25 days fire when they are due, once each, and cost nothing until then', async () => {
  const [serving, url] = await serve({ CAPATAZ_TEST_CLOCK: '1' });
  assert.match(serving.stderr, /CAPATAZ_TEST_CLOCK/);
  const client = createClient({ url });
  const { jobId: asks } = await client.jobs.start('asks');
  const { jobId: works } = await client.jobs.start('works');
  const [asked, begun] = [await types(client, asks), await types(client, works)];
  const pid = serving.child.pid ?? 0;

  for (const ms of [0, 25 * day - 60_000]) {
    await move(url, ms);
    const before = cpuMs(pid);
    await emptyPoll(url, 2);
    const spent = cpuMs(pid) - before;
    assert.ok(spent < 500, `${spent} ms of CPU in 2 s of nothing`);
    assert.deepEqual(await types(client, asks), asked);
    assert.deepEqual(await types(client, works), begun);
  }

  await move(url, 60_000);
  await entry(client, works, 'task_ready');
  await finishTask(url, works);
  assert.equal((await client.jobs.wait(works)).state, 'done');
  await move(url, 5 * day - 60_000);
  await emptyPoll(url);
  assert.deepEqual(await types(client, asks), asked);
  await move(url, 60_000);
  assert.equal((await client.jobs.wait(asks)).state, 'late');

  await move(url, 20 * day);
  await emptyPoll(url);
  const count = async (jobId: string, type: string): Promise<number> =>
    (await types(client, jobId)).filter((one) => one === type).length;
  assert.equal(await count(works, 'task_ready'), 1);
  assert.equal(await count(asks, 'wait_timed_out'), 1);
  assert.equal(await count(asks, 'job_finished'), 1);
  assert.equal(await serving.stop(), 0, serving.stderr);
  assert.doesNotMatch(serving.stderr, /overflow|"level":"error"/i);
});

test('the movable clock is there with its switch alone, and not outside of loopback', async () => {
  const [serving, url] = await serve({});
  const refused = await ask(url, 'POST /_test/clock', { body: { advance_ms: 1 } });
  assert.equal(refused.status, 404);
  await serving.stop();
  const folder = temporaryFolder({
    'clients.toml': '[acme]\ntoken = "t1"\n',
    'workers.toml': '[box]\ntoken = "w1"\n',
  });
  folders.push(folder);
  const environment = { CAPATAZ_TEST_CLOCK: '1' };
  const args = ['serve', '--port', '0', '--host', '0.0.0.0'];
  const outside = await runIn(folder, args, { environment });
  assert.equal(outside.code, 2);
  assert.match(outside.stderr, /host 0\.0\.0\.0 is not loopback, and CAPATAZ_TEST_CLOCK/);
});
