/** The life of a job, with the whole application around it. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { createLog } from 'capataz/server';
import { auditRecordSchema } from '../books/audit-record.ts';
import { states, statuses } from '../domain/machine.ts';
import { answer, failing, ScriptedModels, World } from '../fixtures/world.ts';
import { seedView } from './view.ts';

const fourStates = ['Init', 'DefineAgent', 'Process', 'End'];

test('W-1, W-2, W-4, W-6, W-9: a job goes through the four states, gets an agent and an answer, and is Completed', async () => {
  await using world = await World.start();
  const [one, other] = [await world.run('Fix the bug'), await world.run('Fix the bug')];
  for (const record of [one, other]) {
    assert.deepEqual(record.state_transitions, fourStates);
    assert.deepEqual(record.agent, { skill: 'bug_fix', model: 'Haiku' });
    assert.equal(record.llm_response, 'done');
    assert.equal(record.status, 'Completed');
    assert.equal(record.extra.error, null);
  }
});

test('W-3, S-80: a blank description exists, fails in Init without a call or a wait, and has its record', async () => {
  await using world = await World.start();
  const started = world.clock.now();
  const id = await world.begin('  \n ');
  const record = await world.record(id);
  assert.partialDeepStrictEqual(record, {
    status: 'Failed',
    state_transitions: ['Init'],
    retry_count: 0,
    agent: null,
    cost_usd: 0,
    extra: { error: { Business: 'the description is blank' }, llm_calls: 0 },
  });
  assert.equal(world.models.calls.length, 0);
  assert.equal(world.clock.now(), started);
});

test('S-80: the types of an input are checked before there is a job', async () => {
  await using world = await World.start();
  const wrong = { description: 7 } as unknown as { description: string };
  await assert.rejects(world.begin(wrong), { code: 'INPUT_INVALID' });
});

test('W-5: a router that fails ends the job in DefineAgent, without a retry', async () => {
  await using world = await World.start({
    route: () => {
      throw new Error('there is no road');
    },
  });
  assert.partialDeepStrictEqual(await world.run('Fix the bug'), {
    status: 'Failed',
    state_transitions: ['Init', 'DefineAgent'],
    retry_count: 0,
    extra: { error: { System: 'the job could not be routed: there is no road' }, llm_calls: 0 },
  });
});

test('W-a: neither Init nor DefineAgent is tried again, whatever max_retries says', async () => {
  let routed = 0;
  await using world = await World.start({
    settings: { maxRetries: 9 },
    route: () => {
      routed += 1;
      throw new Error('no');
    },
  });
  const [blank, lost] = [await world.run(''), await world.run('Fix it')];
  assert.deepEqual(
    [blank.state_transitions, lost.state_transitions],
    [['Init'], ['Init', 'DefineAgent']],
  );
  assert.equal(routed, 1);
  assert.deepEqual(world.models.calls, []);
});

test('W-7, W-11: a failed call stays in Process, with its reason, and is made again after the wait', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('unavailable'), () => answer('at last')),
  });
  const id = await world.begin('Fix the bug');
  await world.until(async () => (await world.job(id)).retry_count === 1);
  const waiting = await world.job(id);
  assert.partialDeepStrictEqual(waiting, {
    status: 'InProgress',
    state: 'Process',
    state_history: ['Init', 'DefineAgent', 'Process'],
    failure: { System: 'it is unavailable' },
    next_attempt_at: new Date(world.clock.now() + 1_000).toISOString(),
  });
  const record = await world.record(id);
  assert.deepEqual(record.state_transitions, ['Init', 'DefineAgent', 'Process', 'Process', 'End']);
  assert.equal(record.llm_response, 'at last');
  assert.deepEqual(world.models.gaps, [1_000]);
});

test('W-8, W-c, W-d, W-17, W-22: with all calls failing there are four, 1, 2 and 4 s apart, and the record says three retries', async () => {
  await using world = await World.start({ models: new ScriptedModels(failing('timeout')) });
  const record = await world.run('Fix the bug');
  assert.partialDeepStrictEqual(record, {
    status: 'Failed',
    retry_count: 3,
    max_retries: 3,
    llm_response: null,
    state_transitions: ['Init', 'DefineAgent', 'Process', 'Process', 'Process', 'Process'],
    extra: { error: { System: 'it is timeout' }, permanent: false, llm_calls: 4 },
  });
  assert.deepEqual(world.models.gaps, [1_000, 2_000, 4_000]);
  const { error } = await world.view(record.job_id);
  assert.partialDeepStrictEqual(error, {
    message: 'System failure: it is timeout',
    details: { failure: { System: 'it is timeout' }, permanent: false },
  });
});

test('W-10, W-g: where the record cannot be stored, the job fails with its answer kept, and no call is made again', async () => {
  const log = createLog({ level: 'error', to: new PassThrough() });
  await using world = await World.start({ log });
  const write = world.books.write.bind(world.books);
  let tries = 0;
  world.books.write = () => {
    tries += 1;
    throw new Error('the disk is full');
  };
  const id = await world.begin('Fix the bug');
  for (const [index, delayMs] of [100, 400, 1_000, 2_500].entries()) {
    await world.until(() => tries === index + 1);
    await world.advance(delayMs);
  }
  const job = await world.ended(id);
  assert.partialDeepStrictEqual(job, {
    status: 'Failed',
    state: 'End',
    llm_response: 'done',
    failure: { System: 'the audit record could not be stored: the disk is full' },
  });
  assert.deepEqual([tries, world.models.calls.length], [5, 1]);
  world.books.write = write;
  const record = await world.record(id);
  assert.deepEqual([record.status, record.llm_response], ['Failed', 'done']);
});

test('W-g: a record that is stored at the second try leaves the job Completed', async () => {
  await using world = await World.start();
  const write = world.books.write.bind(world.books);
  let tries = 0;
  world.books.write = (booked) => {
    tries += 1;
    if (tries === 1) throw new Error('busy');
    write(booked);
  };
  const id = await world.begin('Fix the bug');
  await world.until(() => tries === 1);
  await world.advance(100);
  assert.equal((await world.ended(id)).status, 'Completed');
  assert.equal(world.models.calls.length, 1);
});

test('W-12: a job has all fields of the seed, an id of version 4 and times in UTC; updated_at moves with each step', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('unavailable'), () => answer('done')),
  });
  const id = await world.begin('Fix the bug');
  await world.until(async () => (await world.job(id)).retry_count === 1);
  const waiting = seedView(await world.job(id));
  assert.deepEqual(Object.keys(waiting).slice(0, 11), [
    ...['id', 'description', 'status', 'state', 'state_history', 'retry_count'],
    ...['retry_config', 'agent', 'llm_response', 'created_at', 'updated_at'],
  ]);
  assert.match(waiting.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.match(waiting.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(waiting.retry_config, { max_retries: 3, base_delay_ms: 1_000 });
  const ended = await world.ended(id);
  assert.equal(Date.parse(ended.updated_at) - Date.parse(waiting.updated_at), 1_000);
  assert.equal(ended.created_at, waiting.created_at);
});

test('W-13: a job is Pending before it begins and InProgress until it is judged', async () => {
  const asked = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  await using world = await World.start({
    models: new ScriptedModels(async () => {
      asked.resolve();
      await told.promise;
      return answer('done');
    }),
  });
  const id = await world.begin('Fix the bug', { startDelay: '1s' });
  const seen = [(await world.job(id)).status];
  await world.advance(1_000);
  await world.until(async () => (await world.job(id)).calls.length === 1);
  await asked.promise;
  seen.push((await world.job(id)).status);
  told.resolve();
  seen.push((await world.ended(id)).status);
  assert.deepEqual(seen, ['Pending', 'InProgress', 'Completed']);
  assert.deepEqual(statuses, ['Pending', 'InProgress', 'Completed', 'Failed']);
});

test('W-14, W-n: an answer that is refused is tried again as a time-out is, and the model is told why', async () => {
  await using world = await World.start({
    models: new ScriptedModels(
      () => answer('  '),
      failing('timeout'),
      () => answer('good'),
    ),
  });
  const record = await world.run('Fix the bug');
  assert.deepEqual([record.status, record.retry_count], ['Completed', 2]);
  const [first, second, third] = world.models.calls.map(({ messages }) => messages[0]?.text);
  assert.equal(first, 'Fix the bug');
  assert.match(
    second ?? '',
    /^Fix the bug\n\nAn earlier answer was refused: the answer is empty\./,
  );
  assert.equal(third, second);
});

test('W-15: the count of retries stays on the job through the states that follow', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('cut'), failing('unreachable'), () => answer('done')),
  });
  const record = await world.run('Fix the bug');
  assert.deepEqual([record.state_transitions.at(-1), record.retry_count], ['End', 2]);
});

test('W-18: with max_retries 0 the first failure ends the job', async () => {
  await using world = await World.start({ models: new ScriptedModels(failing('timeout')) });
  const record = await world.run({ description: 'Fix the bug', max_retries: 0 });
  assert.deepEqual(
    [record.status, record.retry_count, world.models.calls.length],
    ['Failed', 0, 1],
  );
});

test('W-19, W-o: the flat price is the tier’s, whatever the retries; what was booked stands beside it', async () => {
  await using world = await World.start({
    models: new ScriptedModels(
      failing('malformed', { usage: { input: 1_000, output: 0, cacheRead: 0, cacheWrite: 0 } }),
      () => answer('done'),
    ),
  });
  const prices: unknown[] = [];
  for (const model of ['haiku', 'Sonnet', 'OPUS']) {
    const record = await world.run({ description: 'Look around here, please', model });
    prices.push([record.agent?.model, record.cost_usd]);
    assert.equal(record.agent?.skill, 'code_generation');
  }
  assert.deepEqual(prices, [
    ['Haiku', 0.001],
    ['Sonnet', 0.005],
    ['Opus', 0.05],
  ]);
  const [first] = world.books.records({ tier: 'Haiku' });
  // 1,000 + 100 tokens in and 10 out, at 1 and 5 USD for a million.
  assert.deepEqual([first?.retry_count, first?.extra.booked_usd], [1, 0.00115]);
});

test('W-p: a job that failed before any call has its flat price and says that it made none', async () => {
  await using world = await World.start({ settings: { budgetJobUsd: 0, overBudget: 'fail' } });
  const record = await world.run({ description: 'Look around here, please', model: 'sonnet' });
  assert.deepEqual(
    [record.status, record.cost_usd, record.extra.llm_calls, record.extra.booked_usd],
    ['Failed', 0.005, 0, 0],
  );
});

test('W-20, W-b, S-56: every job that has ended has one record: completed, failed and cancelled ones', async () => {
  await using world = await World.start({
    models: new ScriptedModels(() => answer('done'), failing('rejected'), failing('unavailable')),
  });
  const completed = await world.begin('Fix the bug');
  await world.ended(completed);
  const failed = await world.begin('Fix the bug');
  await world.ended(failed);
  const cancelled = await world.begin('Fix the bug');
  await world.until(async () => (await world.job(cancelled)).retry_count === 1);
  await world.client.jobs.cancel(cancelled);
  const records = [
    await world.record(completed),
    await world.record(failed),
    await world.record(cancelled),
  ];
  assert.deepEqual(
    records.map(({ status, extra: { error } }) => [status, error]),
    [
      ['Completed', null],
      ['Failed', { System: 'it is rejected' }],
      ['Failed', { System: 'cancelled' }],
    ],
  );
  assert.equal([...world.books.records()].length, 3);
});

test('W-s: a job that is cancelled while it waits for its retry calls nobody any more', async () => {
  await using world = await World.start({ models: new ScriptedModels(failing('unavailable')) });
  const id = await world.begin('Fix the bug');
  await world.until(async () => (await world.job(id)).retry_count === 1);
  await world.client.jobs.cancel(id);
  await world.advance(10_000);
  const record = await world.record(id);
  assert.deepEqual(record.state_transitions, ['Init', 'DefineAgent', 'Process']);
  assert.deepEqual([record.retry_count, world.models.calls.length], [1, 1]);
});

test('W-21: the record has the twelve fields, and its duration is the time between them', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('unavailable'), () => answer('done')),
  });
  const record = await world.run('Fix the bug');
  auditRecordSchema.parse(record);
  assert.deepEqual(Object.keys(record), [
    ...['job_id', 'description', 'status', 'state_transitions', 'agent', 'retry_count'],
    ...['max_retries', 'cost_usd', 'llm_response', 'started_at', 'completed_at', 'duration_ms'],
    'extra',
  ]);
  assert.equal(record.duration_ms, 1_000);
  assert.equal(Date.parse(record.completed_at) - Date.parse(record.started_at), 1_000);
  assert.ok(record.state_transitions.every((state) => states.includes(state)));
});

test('W-m, S-81: what can never succeed is asked once, and is a System failure with a mark', async () => {
  for (const reason of ['rejected', 'refused'] as const) {
    await using world = await World.start({ models: new ScriptedModels(failing(reason)) });
    const record = await world.run('Fix the bug');
    assert.equal(world.models.calls.length, 1);
    assert.deepEqual(record.extra.error, { System: `it is ${reason}` });
    assert.equal(record.extra.permanent, true);
  }
});

test('S-81: a truncated answer is a Business failure, and so is tried again', async () => {
  await using world = await World.start({
    models: new ScriptedModels(failing('truncated'), () => answer('done')),
  });
  const id = await world.begin('Fix the bug');
  await world.until(async () => (await world.job(id)).retry_count === 1);
  assert.deepEqual((await world.job(id)).failure, { Business: 'it is truncated' });
  assert.equal((await world.ended(id)).status, 'Completed');
});

test('while an answer streams, the job shows how much has come, without secrets', async () => {
  const told = Promise.withResolvers<void>();
  await using world = await World.start({
    models: new ScriptedModels(async ({ onDelta }) => {
      onDelta?.('The key is sk-ant-01234');
      onDelta?.('56789abcdefghij');
      await told.promise;
      return answer('done');
    }),
  });
  const id = await world.begin('Fix the bug');
  await world.until(async () => (await world.view(id)).progress !== null);
  assert.deepEqual((await world.view(id)).progress, {
    fraction: null,
    message: '38 characters: The key is [redacted]',
  });
  told.resolve();
  assert.equal((await world.ended(id)).status, 'Completed');
});
