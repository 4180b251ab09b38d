import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { createLog, systemClock } from 'capataz/server';
import { VirtualClock } from 'capataz/testing';
import type { Behaviour } from '../fake-provider/script.ts';
import { FakeWorld, modelsFile } from '../fixtures/fake-world.ts';
import { answer, failing, ScriptedModels, usage, World } from '../fixtures/world.ts';
import { ModelError } from '../models/contract.ts';
import { Books } from './books.ts';
import { csvHeader, csvLine } from './formats.ts';
import { booksFile } from './place.ts';
import { redaction } from './redaction.ts';

const secret = 'sk-ant-0123456789abcdefghij';

test('W-v: secrets stand in no record: not in the description, the answer or an error; the model is told all', async () => {
  await using world = await World.start({
    models: new ScriptedModels(
      ({ messages }) => answer(`I was told ${messages[0]?.text}`),
      () => {
        throw new ModelError('rejected', `the key ${secret} is not good`);
      },
    ),
    redact: (text) => text.replaceAll('Project Heron', '[a project]'),
    prepare: (folder) => {
      const file = join(folder, 'redactions.txt');
      writeFileSync(file, '# names of clients\nacme ltd\n');
      return { redactions: file };
    },
  });
  const description = `Fix the login of ACME Ltd in Project Heron with ${secret}`;
  const record = await world.run(description);
  assert.equal(world.models.calls[0]?.messages[0]?.text, description);
  const safe = 'Fix the login of [redacted] in [a project] with [redacted]';
  assert.equal(record.description, safe);
  assert.equal(record.llm_response, `I was told ${safe}`);
  const failed = await world.run(description);
  assert.equal(failed.description, safe);
  assert.deepEqual(failed.extra.error, { System: 'the key [redacted] is not good' });
  assert.ok(!JSON.stringify(world.books.calls()).includes(secret));
});

test('W-v: secrets stand neither in what a job failed with, nor in its book, nor before the one who approves it', async () => {
  await using world = await World.start({
    models: new ScriptedModels(() => {
      throw new ModelError('rejected', `wrong request: the password=${secret} is not good`);
    }),
  });
  const id = await world.begin({ description: `Use ${secret}` });
  await world.ended(id);
  const view = await world.view(id);
  const told = JSON.stringify([view.error, await world.book(id)]);
  assert.match(told, /the password=\[redacted\]/);
  assert.ok(!told.includes(secret), told);
  await using poor = await World.start({ settings: { budgetMonthUsd: 0.000001 } });
  const paused = await poor.begin({ description: `Use ${secret}` });
  await poor.until(async () => (await poor.view(paused)).status === 'waiting_for_human');
  const { wait } = await poor.view(paused);
  assert.ok(wait?.type === 'approval');
  assert.partialDeepStrictEqual(wait.show, { description: 'Use [redacted]' });
});

test('W-v: the limit of a description counts characters, not bytes', async () => {
  await using world = await World.start();
  assert.equal((await world.run('ñ'.repeat(10_000))).status, 'Completed');
  assert.equal((await world.run('🦆'.repeat(10_000))).status, 'Completed');
  const record = await world.run('ñ'.repeat(10_001));
  assert.deepEqual(record.extra.error, {
    Business: 'the description has 10001 characters, more than 10000',
  });
});

test('a file of redactions that is wrong is refused with file and line', async () => {
  await using world = await World.start();
  const file = join(world.folder, 'redactions.txt');
  writeFileSync(file, 'good\n(\n');
  assert.throws(() => redaction(file), /redactions\.txt:2: Invalid regular expression/);
});

test('W-t, W-19: money is stored in whole nano-dollars and summed exactly; a hundred jobs of the seed’s mix cost 0.71 USD', async () => {
  await using world = await World.start();
  const mix = [
    'haiku',
    'haiku',
    'haiku',
    'haiku',
    'haiku',
    'haiku',
    'sonnet',
    'sonnet',
    'sonnet',
    'opus',
  ];
  for (let round = 0; round < 10; round += 1) {
    const ids = await Promise.all(mix.map((model) => world.begin({ description: 'Look', model })));
    for (const id of ids) await world.record(id);
  }
  const [totals] = world.books.totals();
  assert.deepEqual([totals?.jobs, totals?.cost], [100, 710_000_000]);
  using file = new DatabaseSync(booksFile(world.server.config), { readOnly: true });
  const row = file.prepare('SELECT DISTINCT typeof(cost_nano_usd) AS type FROM records').all();
  assert.deepEqual(
    row.map(({ type }) => type),
    ['integer'],
  );
  const [record] = world.books.records({ tier: 'Opus' });
  assert.equal(JSON.parse(JSON.stringify(record)).cost_usd, 0.05);
});

test('records are found by what they are, and totals tell cost, success and retries by skill, tier and day', async () => {
  await using world = await World.start({
    clock: new VirtualClock({ now: Date.UTC(2026, 0, 1, 23, 59, 30) }),
    models: new ScriptedModels(
      failing('timeout', { usage: usage(0, 0) }),
      () => answer('one'),
      failing('rejected', { usage: usage(0, 0) }),
      () => answer('three'),
    ),
  });
  await world.run('Fix the bug');
  await world.run('Refactor it all');
  await world.advance(60_000);
  await world.run('Test the parser of durations');
  const by = (grouping: Parameters<typeof world.books.totals>[1]) =>
    world.books
      .totals({}, grouping)
      .map(({ group, jobs, completed, retries, calls }) => [
        group,
        jobs,
        completed,
        retries,
        calls,
      ]);
  assert.deepEqual(by('skill'), [
    ['bug_fix', 1, 1, 1, 2],
    ['refactoring', 1, 0, 0, 1],
    ['testing', 1, 1, 0, 1],
  ]);
  assert.deepEqual(by('day'), [
    ['2026-01-01', 2, 1, 1, 3],
    ['2026-01-02', 1, 1, 0, 1],
  ]);
  assert.deepEqual(
    by('tier').map(([tier]) => tier),
    ['Haiku', 'Opus', 'Sonnet'],
  );
  const found = [...world.books.records({ status: 'Failed', until: '2026-01-02' })];
  assert.deepEqual(
    found.map(({ agent }) => agent?.skill),
    ['refactoring'],
  );
  // Whatever way it is written: ends are compared as instants.
  const [first] = world.books.records();
  const since = first?.completed_at.replace(/\.\d+Z$/, 'Z');
  assert.equal([...world.books.records({ since })].length, 3);
});

test('CSV has a column for each field and quotes what it must', async () => {
  await using world = await World.start({
    models: new ScriptedModels(() => answer('He said "yes",\nthen left')),
  });
  const record = await world.run('Look, there');
  const line = csvLine(record);
  assert.match(
    csvHeader,
    /^job_id,description,status,state_transitions,skill,model,retry_count,max_retries,cost_usd,llm_response,started_at,completed_at,duration_ms,/,
  );
  assert.match(
    line,
    /,"Look, there",Completed,Init>DefineAgent>Process>End,code_generation,Haiku,0,3,0\.001,"He said ""yes"",\nthen left",/,
  );
  assert.equal(csvHeader.split(',').length, 27);
});

const prices = `
  date = 2026-11-28
  [prices."anthropic/claude-haiku-4-5-20251001"]
  input = 2
  output = 10
  cache_read = 0.2
  cache_write = 2.5
`;

const answers: readonly (readonly [
  string,
  Partial<Extract<Behaviour, { kind: 'answer' }>>,
  number,
])[] = [
  ['plain', { usage: { input: 1_000, output: 100 } }, (1_000 * 2 + 100 * 10) / 1e6],
  [
    'read from a cache',
    { usage: { input: 10, output: 100, cacheRead: 12_345 } },
    (10 * 2 + 100 * 10 + 12_345 * 0.2) / 1e6,
  ],
  [
    'written to a cache',
    { usage: { input: 10, output: 100, cacheWrite: 777 } },
    (10 * 2 + 100 * 10 + 777 * 2.5) / 1e6,
  ],
  [
    'with reasoning',
    { usage: { input: 10, output: 1_000, reasoning: 900 } },
    (10 * 2 + 1_000 * 10) / 1e6,
  ],
];

for (const [name, behaviour, expected] of answers) {
  test(`B-072: the record of an answer ${name} has the cost that the price list gives, to the nano-dollar`, async () => {
    await using fakeWorld = await FakeWorld.start(
      { rules: [{ do: { kind: 'answer', ...behaviour } as Behaviour }] },
      { models: prices },
    );
    const { world, fake } = fakeWorld;
    const record = await world.run({ description: 'Look', model: 'haiku' });
    assert.ok(Math.abs((record.extra.booked_usd ?? Number.NaN) - expected) < 1e-9);
    assert.deepEqual(record.extra.tokens, fake.meter.total);
    assert.equal(record.cost_usd, 0.001);
  });
}

test('B-072: a model without a price, and an answer without its usage, are unknown and not 0', async () => {
  await using unpriced = await World.start({
    prepare: (folder) => ({
      models: modelsFile(folder, '[tiers.Haiku]\nmodel = "anthropic/new"\ncost_usd = 0.001\n'),
    }),
  });
  const first = await unpriced.run({ description: 'Look', model: 'haiku' });
  assert.deepEqual([first.extra.booked_usd, first.extra.unknown_calls], [null, 1]);
  assert.deepEqual(first.extra.tokens, { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 });
  const unmetered = { input: null, output: null, cacheRead: null, cacheWrite: null };
  await using world = await World.start({
    models: new ScriptedModels(() => answer('done', { usage: unmetered })),
  });
  const second = await world.run({ description: 'Look', model: 'haiku' });
  assert.deepEqual([second.extra.booked_usd, second.extra.tokens], [null, unmetered]);
  const [totals] = world.books.totals();
  assert.deepEqual([totals?.unknownCalls, totals?.booked], [1, 0]);
});

async function passes(world: World, holds: () => boolean | Promise<boolean>): Promise<void> {
  await world.until(async () => {
    await world.advance(500);
    return holds();
  });
}

test('W-g: books that another process has locked hold the server up for no more than a moment, and get their record later', async () => {
  await using world = await World.start({
    log: createLog({ level: 'error', to: new PassThrough() }),
  });
  using lock = new DatabaseSync(booksFile({ dataDir: join(world.folder, 'data') }));
  lock.exec('BEGIN IMMEDIATE');
  const begun = systemClock.steady();
  const id = await world.begin('Fix it');
  await passes(world, async () => (await world.view(id)).status === 'failed');
  // Five tries of End's, and a few of the projection's.
  assert.ok(systemClock.steady() - begun < 5_000);
  lock.exec('ROLLBACK');
  await passes(world, () => world.books.record(id) !== null);
  assert.equal(world.books.record(id)?.llm_response, 'done');
});

test('books that are none are named, with what to do', async () => {
  await using world = await World.start();
  const file = join(world.folder, 'none.sqlite');
  writeFileSync(file, 'nothing of that kind');
  for (const readOnly of [true, false]) {
    assert.throws(() => new Books(file, { readOnly }), {
      code: 'STORE_UNAVAILABLE',
      message: /none\.sqlite cannot be used: file is not a database\. Where the file is moved away/,
    });
  }
});

test('books whose file is gone are made anew by the next start', async () => {
  const first = await World.start();
  const id = await first.begin('Fix it');
  const record = await first.record(id);
  await first.stop();
  rmSync(booksFile({ dataDir: join(first.folder, 'data') }));
  await using second = await World.start({ previous: first });
  await second.until(() => second.books.record(id) !== null);
  assert.deepEqual(second.books.record(id), record);
});
