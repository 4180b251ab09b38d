import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createClient } from 'capataz/client';
import { removeFolder, runIn, temporaryFolder } from './fixtures/context.ts';
import { CliProcess } from './fixtures/processes.ts';

const reviewModule = `
import { approval, blueprint, finish } from 'capataz';
export default blueprint({ name: 'review', version: 1, states: {
  ask: { start: true, to: ['done', 'refused'], handle: (job) =>
    approval({ message: 'Go?', show: job.input, on: { approved: 'done', rejected: 'refused' } }) },
  done: { end: true, handle: (job) => finish(job.answer.data) },
  refused: { end: 'failed' },
} });
`;

const folders: string[] = [];
after(() => folders.forEach(removeFolder));

function reviewFolder(): string {
  const folder = temporaryFolder({ 'blueprints/review.ts': reviewModule });
  folders.push(folder);
  return folder;
}

async function press(url: string, decision: string): Promise<number> {
  const body = new URLSearchParams({ decision, approver: 'Ana' });
  return (await fetch(url, { method: 'POST', body })).status;
}

test('B-036: a link and what was decided by it outlive a kill -9 straight after the answer', async () => {
  const folder = reviewFolder();
  const first = new CliProcess(['serve', '--port', '0'], folder);
  const url = await first.says(/listening on (\S+)/);
  const { jobs, approvals } = createClient({ url });
  const { jobId } = await jobs.start('review', { plan: 1 });
  const { jobId: open } = await jobs.start('review', { plan: 2 });
  const [link, other] = [await approvals.link(jobId), await approvals.link(open)];
  assert.equal(await press(link.url, 'approved'), 200);
  await first.stop('SIGKILL');

  const second = new CliProcess(['serve', '--port', '0'], folder);
  const newUrl = await second.says(/listening on (\S+)/);
  const moved = (old: string): string => old.replace(url, newUrl);
  const then = createClient({ url: newUrl });
  assert.partialDeepStrictEqual(await then.jobs.get(jobId), {
    status: 'finished',
    result: { approver: 'Ana', data: { via: 'link' } },
  });
  assert.equal(await press(moved(link.url), 'approved'), 200);
  assert.equal(await press(moved(link.url), 'rejected'), 409);
  assert.match(await (await fetch(moved(link.url))).text(), /Decided: approved/);
  assert.equal(await press(moved(other.url), 'rejected'), 200);
  assert.equal((await then.jobs.get(open)).status, 'failed');
  await second.stop();
});

test('A-15: without a server a decision is given on the data folder, and a link has no address yet', async () => {
  const folder = reviewFolder();
  const started = await runIn(folder, ['jobs', 'start', 'review', '-i', '{"plan":1}']);
  const id = started.stdout.trim();
  const link = await runIn(folder, ['approvals', 'link', id]);
  assert.match(link.stdout, /^\/_public\/approvals\/\S+\n$/, link.stderr);
  assert.match(link.stderr, /put the address of the server on \S+ before it/);
  const approved = await runIn(folder, ['approvals', 'approve', id, '--as', 'Ana']);
  assert.match(approved.stdout, /job \S+ is finished in done\n$/, approved.stderr);
  const refusals = [];
  for (const verb of ['approve', 'link']) {
    const { code, stderr } = await runIn(folder, ['approvals', verb, id]);
    assert.equal(code, 4, verb);
    refusals.push(stderr.slice(stderr.indexOf('error ')));
  }
  assert.equal(refusals[0], refusals[1]);
  assert.ok(
    refusals[0]?.startsWith(
      `error DECISION_REFUSED: job ${id} is finished and asks nobody for a decision\n`,
    ),
  );
  const late = await runIn(folder, ['jobs', 'signal', id, 'any']);
  assert.equal(late.code, 4);
  assert.match(late.stderr, /error ALREADY_FINAL: /);
});

test('a link has the public address that the folder is set to, and an unknown decision names the known', async () => {
  const folder = reviewFolder();
  const started = await runIn(folder, ['jobs', 'start', 'review', '-i', '{"plan":1}']);
  const id = started.stdout.trim();
  const environment = { CAPATAZ_PUBLIC_URL: 'https://c.example/' };
  const link = await runIn(folder, ['approvals', 'link', id], { environment });
  assert.match(link.stdout, /^https:\/\/c\.example\/_public\/approvals\/\S+\n$/, link.stderr);
  assert.doesNotMatch(link.stderr, /put the address/);
  const unknown = await runIn(folder, ['approvals', 'decide', id, 'perhaps']);
  assert.equal(unknown.code, 4);
  assert.match(unknown.stderr, /no such decision; it knows approved, rejected\n/);
});
