/** The command line, in processes of its own, as people use it. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient } from 'capataz/client';
import { until } from 'capataz/testing';
import { auditRecordSchema } from '../books/audit-record.ts';
import { FakeProvider } from '../fake-provider/fake-provider.ts';
import type { ScriptText } from '../fake-provider/script.ts';
import { AppProcess, ran } from '../fixtures/app-process.ts';
import { modelsAtFake } from '../fixtures/fake-world.ts';

class Desk implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'capataz-llm-cli-'));
  readonly fake: FakeProvider | null;

  private constructor(fake: FakeProvider | null) {
    this.fake = fake;
  }

  /** Without a script there is no key. */
  static async open(script?: ScriptText): Promise<Desk> {
    if (script === undefined) return new Desk(null);
    const desk = new Desk(await FakeProvider.start({ script }));
    modelsAtFake(desk.folder, desk.fake?.url ?? '');
    desk.write('llm-jobs.toml', 'api_key = "a-key"\nbase_delay_ms = 10\n');
    return desk;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fake?.[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  write(name: string, content: string): void {
    writeFileSync(join(this.folder, name), content);
  }

  run(...words: readonly string[]) {
    return ran(words, this.folder);
  }
}

const jobFile = {
  id: 'x',
  description: 'Fix the bug',
  status: 'Failed',
  state: 'End',
  state_history: ['Init'],
  retry_count: 3,
  retry_config: { max_retries: 1, base_delay_ms: 5 },
  agent: null,
};

test('without a key no model is asked: run succeeds, says that it is a stub, and so does every record', async () => {
  await using desk = await Desk.open();
  const { code, stdout, stderr } = await desk.run('run', 'Fix', 'the', 'bug');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /Completed \(stub: no model was asked\) · bug_fix · Haiku/);
  assert.match(stderr, /no provider has a key/);
  const audit = await desk.run('audit', '--format', 'jsonl');
  const record = auditRecordSchema.parse(JSON.parse(audit.stdout));
  assert.deepEqual([record.extra.stub, record.extra.booked_usd], [true, 0]);
  assert.match((await desk.run('audit')).stdout, /Completed \(stub\)/);
});

test('run ends with 0 for a job that is completed and 1 for one that failed, and tells each step with -v', async () => {
  await using desk = await Desk.open({
    rules: [
      { when: { contains: 'never' }, do: { kind: 'status', status: 400 } },
      { times: 1, do: { kind: 'status', status: 503 } },
    ],
  });
  const good = await desk.run('run', '--model', 'opus', '-v', 'Fix the bug');
  assert.equal(good.code, 0, good.stderr);
  assert.match(good.stdout, /Process[\s\S]*tries again in 10 ms[\s\S]*End/);
  assert.match(
    good.stdout,
    /Done, as it was asked for: Fix the bug\n.*Completed · bug_fix · Opus · 1 retries · 0\.05 USD/,
  );
  const bad = await desk.run('run', '--json', 'never');
  assert.equal(bad.code, 1);
  const record = auditRecordSchema.parse(JSON.parse(bad.stdout));
  assert.deepEqual([record.status, record.extra.permanent], ['Failed', true]);
  const status = await desk.run('status', '--json');
  assert.partialDeepStrictEqual(JSON.parse(status.stdout), {
    open: { running: 0 },
    totals: [{ jobs: 2, completed: 1, success_rate: 0.5, llm_calls: 3 }],
  });
});

test('run --file takes a job as the seed writes it, and begins it anew', async () => {
  await using desk = await Desk.open({});
  desk.write('job.json', JSON.stringify(jobFile));
  const { code, stdout } = await desk.run('run', '--json', '--file', 'job.json');
  assert.equal(code, 0);
  const record = auditRecordSchema.parse(JSON.parse(stdout));
  assert.deepEqual(
    [record.description, record.max_retries, record.retry_count, record.state_transitions.length],
    ['Fix the bug', 1, 0, 4],
  );
  desk.write('bad.json', '{"description": 7, "modle": "opus"}');
  const bad = await desk.run('run', '--file', 'bad.json');
  assert.equal(bad.code, 2);
  assert.match(bad.stderr, /bad\.json: description: .*string/);
  assert.match(bad.stderr, /bad\.json: .*modle/);
  assert.equal((await desk.run('run', '--file', 'nowhere.json')).code, 2);
  assert.equal((await desk.run('run')).code, 2);
  const tier = await desk.run('run', '--model', 'gpt', 'Fix it');
  assert.deepEqual([tier.code, /must be haiku, sonnet or opus/.test(tier.stderr)], [2, true]);
});

const lines = Array.from({ length: 40 }, (_, index) => JSON.stringify(`Fix bug ${index}`));

test('a batch gives its records in the order of its lines, names what is wrong with a line, and totals by batch', async () => {
  await using desk = await Desk.open({
    rules: [
      { when: { contains: 'bug 7' }, do: { kind: 'status', status: 404 } },
      { when: { contains: 'bug 1' }, do: { kind: 'answer', delayMs: 200 } },
    ],
  });
  desk.write('jobs.jsonl', `${lines.join('\n')}\n\n`);
  const { code, stderr } = await desk.run(
    'batch',
    'jobs.jsonl',
    '--output',
    'out.jsonl',
    '--name',
    'bugs',
  );
  assert.equal(code, 1, stderr);
  assert.match(stderr, /█ 40\/40 · 1 failed · /);
  const out = readFileSync(join(desk.folder, 'out.jsonl'), 'utf8').trim().split('\n');
  const records = out.map((line) => auditRecordSchema.parse(JSON.parse(line)));
  assert.deepEqual(
    records.map(({ description }) => description),
    lines.map((line) => JSON.parse(line)),
  );
  assert.deepEqual(
    records.flatMap(({ status }, index) => (status === 'Failed' ? [index] : [])),
    [7],
  );
  const totals = await desk.run('audit', '--batch', 'bugs', '--by', 'batch', '--json');
  assert.partialDeepStrictEqual(JSON.parse(totals.stdout), [
    { group: 'bugs', jobs: 40, completed: 39 },
  ]);
  desk.write('bad.jsonl', '"fine"\n{"model": "opus"}\nnonsense\n');
  const bad = await desk.run('batch', 'bad.jsonl');
  assert.equal(bad.code, 2);
  assert.match(bad.stderr, /bad\.jsonl:2: description: /);
  assert.match(bad.stderr, /bad\.jsonl:3: is no JSON/);
});

test('a batch that was killed goes on with the same command: no job is started twice, and results are complete', async () => {
  await using desk = await Desk.open({ rules: [{ do: { kind: 'answer', delayMs: 30 } }] });
  const { fake } = desk;
  assert.ok(fake !== null);
  desk.write('jobs.jsonl', lines.join('\n'));
  const words = ['batch', 'jobs.jsonl', '--output', 'out.jsonl', '--jobs', '4'];
  const first = new AppProcess(words, desk.folder);
  await until(() => fake.meter.entries.length >= 10);
  await first.kill();
  const before = fake.meter.entries.length;
  assert.ok(before < 40);
  const second = await desk.run(...words);
  assert.equal(second.code, 0, second.stderr);
  const out = readFileSync(join(desk.folder, 'out.jsonl'), 'utf8').trim().split('\n');
  assert.deepEqual(
    out.map((line) => JSON.parse(line).description),
    lines.map((line) => JSON.parse(line)),
  );
  // Only what was under way when it was killed is asked for once more.
  assert.ok(fake.meter.entries.length <= 40 + 4, String(fake.meter.entries.length));
  const prompts = new Set(fake.meter.entries.map(({ prompt }) => prompt));
  assert.equal(prompts.size, 40);
  assert.equal((await desk.run('audit', '--format', 'csv')).stdout.split('\n').length, 41);
});

test('audit writes records as JSON lines and CSV, one record, and the calls of a job', async () => {
  await using desk = await Desk.open({});
  await desk.run('run', 'Fix the bug');
  await desk.run('run', 'Test the parser');
  const csv = await desk.run(
    'audit',
    '--format',
    'csv',
    '--skill',
    'testing',
    '--output',
    'out.csv',
  );
  assert.equal(csv.code, 0);
  assert.match(
    readFileSync(join(desk.folder, 'out.csv'), 'utf8'),
    /^job_id,.*\n.*,Test the parser,/,
  );
  const [record] = (await desk.run('audit', '--format', 'jsonl')).stdout.split('\n');
  const { job_id } = JSON.parse(record ?? '');
  assert.equal(JSON.parse((await desk.run('audit', job_id)).stdout).job_id, job_id);
  const call = JSON.parse((await desk.run('audit', job_id, '--calls')).stdout);
  assert.deepEqual([call.request_id, call.outcome], [`${job_id}-1`, 'answered']);
  assert.equal((await desk.run('audit', '--since', 'yesterday')).code, 2);
  assert.ok(existsSync(join(desk.folder, '.capataz', 'llm-books.sqlite')));
});

test('commands find the server that holds the data folder, and a person can approve what goes beyond a budget', async () => {
  await using desk = await Desk.open({});
  await using server = new AppProcess(
    ['serve', '--port', '0', '--budget-month-usd', '0.000001'],
    desk.folder,
  );
  await until(() => server.url !== null);
  await using asking = new AppProcess(['run', 'Fix the bug'], desk.folder);
  await until(() => asking.lines.length > 0);
  const [, id = ''] =
    /^waits for approval: capataz-llm approvals show (\S+)$/.exec(asking.lines[0] ?? '') ?? [];
  const shown = await desk.run('approvals', 'show', id, '--json');
  assert.match(shown.stdout, /Go beyond the budget\? the budget has no 0\.\d+ USD left/);
  const approved = await desk.run('approvals', 'approve', id);
  assert.equal(approved.code, 0, approved.stderr);
  assert.equal(await asking.ended(), 0);
  assert.equal(desk.fake?.meter.entries.length, 1);
});

test('a batch tells when its jobs wait for approval, and goes on with what is approved', async () => {
  await using desk = await Desk.open({});
  await using server = new AppProcess(
    ['serve', '--port', '0', '--budget-month-usd', '0.000001'],
    desk.folder,
  );
  await until(() => server.url !== null);
  desk.write('jobs.jsonl', '"Fix the bug"\n"Fix the other bug"\n');
  await using batch = new AppProcess(['batch', 'jobs.jsonl'], desk.folder);
  await until(() => batch.errors.includes('2 jobs wait for approval: capataz-llm approvals list'));
  const client = createClient({ url: server.url ?? '' });
  for await (const { job_id, hash } of client.approvals.all())
    await client.approvals.approve(job_id, { hash });
  assert.equal(await batch.ended(), 0);
  assert.equal(batch.lines.length, 2);
});

test('a batch takes what Windows writes, and lines that are twice there as two jobs; what can not be written is refused before anything starts', async () => {
  await using desk = await Desk.open({});
  desk.write('jobs.jsonl', '\uFEFF"Fix it"\r\n\r\n{"description": "Fix that"}\r\n"Fix it"\r\n');
  const words = ['batch', 'jobs.jsonl', '--output', 'nowhere/out.jsonl'];
  const refused = await desk.run(...words);
  assert.deepEqual(
    [refused.code, /nowhere\/out\.jsonl: cannot be written \(ENOENT\)/.test(refused.stderr)],
    [2, true],
  );
  assert.equal(desk.fake?.meter.entries.length, 0);
  const done = await desk.run('batch', 'jobs.jsonl');
  assert.equal(done.code, 0, done.stderr);
  const records = done.stdout.split('\n').map((line) => auditRecordSchema.parse(JSON.parse(line)));
  assert.deepEqual(
    records.map(({ description }) => description),
    ['Fix it', 'Fix that', 'Fix it'],
  );
  assert.equal(new Set(records.map(({ job_id }) => job_id)).size, 3);
  const copy = await desk.run('audit', '--format', 'csv', '--output', 'nowhere/out.csv');
  assert.deepEqual([copy.code, /cannot be written/.test(copy.stderr)], [2, true]);
  const flags = await desk.run('audit', '--tier', 'gpt', '--since', 'yesterday');
  assert.match(flags.stderr, /--tier: must be haiku, sonnet or opus/);
  assert.match(flags.stderr, /--since: must be a day/);
});
