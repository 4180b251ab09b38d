import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Client, createClient } from 'capataz/client';
import { Parcels } from '../../examples/compose/parcels.ts';
import { outputOf, Program } from './program.ts';

const main = 'examples/compose/main.ts';
const worker = fileURLToPath(new URL('../../examples/compose/worker.ts', import.meta.url));
const listening = /^listening on (\S+)\n/m;

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'capataz-e2e-compose-'));
});
after(() => rm(folder, { recursive: true, force: true }));

function run(...args: string[]): Promise<string> {
  return outputOf(main, args, folder);
}

function start(...args: string[]): Program {
  return new Program(main, args, folder);
}

/** Resolves when so many jobs have an entry of this type (and state), each of which is told. */
async function seen(
  client: Client,
  wanted: { readonly type: string; readonly state?: string; readonly count: number },
  tell: (jobId: string) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const jobs = new Set<string>();
  for await (const { job_id, entry } of client.events()) {
    const isWanted = wanted.state === undefined || entry.state === wanted.state;
    if (entry.type !== wanted.type || !isWanted || jobs.has(job_id)) continue;
    await tell(job_id);
    if (jobs.add(job_id).size === wanted.count) return;
  }
}

async function approve({ jobs, approvals }: Client, id: string): Promise<void> {
  const { wait } = await jobs.get(id);
  assert.equal(wait?.type, 'approval');
  await approvals.approve(id, { hash: wait.hash });
}

async function historyOf({ jobs }: Client, id: string): Promise<string[]> {
  const book: string[] = [];
  for await (const { seq, type } of jobs.history(id)) book.push(`${seq} ${type}`);
  return book;
}

async function countsAt(url: string): Promise<unknown> {
  const response = await fetch(`${url}/parcels`);
  assert.equal(response.status, 200);
  return response.json();
}

test('S-66: an application projects, signals and answers with its own parts, and a kill -9 in the middle changes nothing of it', async () => {
  const pace = ['--pace', '50ms'];
  await using first = start('serve', '--port', '0', ...pace);
  const url = await first.says(listening);
  await using working = start('worker', worker, '--url', url);
  await working.says(/works for/);
  const client = createClient({ url });

  // More than the vans can hold at once, so that some wait for a share; four are heavy.
  const weights = Array.from({ length: 24 }, (_, index) => String(1 + index));
  const sent = (await run('send', ...weights)).trim().split('\n');
  assert.equal(sent.length, weights.length);
  await seen(client, { type: 'state_entered', state: 'delivered', count: 3 });
  await first.stop('SIGKILL');

  await using second = start('serve', '--port', new URL(url).port, ...pace);
  await second.says(listening);
  await seen(client, { type: 'approval_asked', count: 4 }, (id) => approve(client, id));
  using table = new Parcels(join(folder, '.capataz/parcels.sqlite'), { readOnly: true });
  for (const id of sent) {
    const job = await client.jobs.wait(id, { timeout: '60s' });
    assert.equal(job.state, 'delivered', JSON.stringify(job.error));
    assert.deepEqual(job.data.places, ['depot', 'highway', 'city']);
    const history = await historyOf(client, id);
    // The feed follows the commits: what is asked meanwhile gives it the time.
    while (table.book(id).length < history.length) await countsAt(url);
    assert.deepEqual(table.book(id), history);
  }
  assert.deepEqual(await countsAt(url), { delivered: 24, write: 24 });
  assert.match(await run('report'), /^delivered +24$/m);
  assert.equal(await second.stop(), 0, second.stderr);
  assert.doesNotMatch(second.stderr, /"level":"error"/);
  assert.match(await run('report'), /^delivered +24$/m);
});
