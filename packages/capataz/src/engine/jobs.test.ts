import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { CapatazError } from '../protocol/errors.ts';
import { oneTask, startWorld, storeWith, type World } from './fixtures.ts';
import type { CreatedJob, CreateJob } from './ports.ts';

const key = (bodyHash: string): NonNullable<CreateJob['idempotency']> => ({ key: 'k', bodyHash });

async function create(
  world: World,
  fields: Partial<CreateJob>,
): Promise<CreatedJob | CapatazError | undefined> {
  const request = { blueprint: 'one-task', client: 'client-1', input: {}, ...fields };
  const [answer] = await world.engine.jobs.create([request]);
  return answer;
}

test('B-065: the same key gives the same job, one after another', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const first = await create(world, { idempotency: key('a') });
  assert.ok(first !== undefined && 'id' in first);
  assert.ok(first.created);
  for (let number = 0; number < 5; number += 1) {
    assert.deepEqual(await create(world, { idempotency: key('a') }), { ...first, created: false });
  }
  assert.equal((await world.truth.jobs({ limit: 10 })).length, 1);
  assert.equal((await world.truth.counts()).queued, 1);
});

test('B-065: the same key 20 times at once gives one job', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => create(world, { idempotency: key('a') })),
  );
  const ids = new Set(answers.map((answer) => (answer as CreatedJob).id));
  assert.equal(ids.size, 1);
  const created = answers.filter((answer) => (answer as CreatedJob).created);
  assert.equal(created.length, 1);
  const request = { blueprint: 'one-task', client: 'client-1', input: {}, idempotency: key('a') };
  const batch = await world.engine.jobs.create([request, request]);
  assert.ok(batch.every((answer) => ids.has((answer as CreatedJob).id)));
  assert.equal((await world.truth.jobs({ limit: 10 })).length, 1);
});

test('B-065: the key holds after a restart, and after the end of its job', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const first = (await create(world, { idempotency: key('a') })) as CreatedJob;
  await world.restart();
  assert.equal(((await create(world, { idempotency: key('a') })) as CreatedJob).id, first.id);
  await world.engine.jobs.cancel(first.id, 'tester', 'enough');
  await world.advance(23 * 3_600_000);
  assert.equal(((await create(world, { idempotency: key('a') })) as CreatedJob).id, first.id);
});

test('B-065: another body under the same key is a conflict, another client is independent', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const first = (await create(world, { idempotency: key('a') })) as CreatedJob;
  const other = await create(world, { idempotency: key('b') });
  assert.ok(other instanceof CapatazError);
  assert.deepEqual([other.code, other.status], ['IDEMPOTENCY_CONFLICT', 409]);
  const foreign = await create(world, { idempotency: key('a'), client: 'client-2' });
  assert.ok(foreign !== undefined && 'id' in foreign);
  assert.ok(foreign.created);
  assert.notEqual(foreign.id, first.id);
});

test('S-10: a batch is one commit, answers in order, and a refused one harms no other', async () => {
  const broken = blueprint({
    name: 'strict',
    version: 1,
    input: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          value === 'good' ? { value } : { issues: [{ message: 'must be good', path: ['x'] }] },
      },
    },
    states: {
      think: { start: true, to: ['done'], handle: () => transition('done') },
      done: { end: true },
    },
  });
  const world = await startWorld({ blueprints: [oneTask(), broken] });
  const before = world.commits.length;
  const client = 'client-1';
  const answers = await world.engine.jobs.create([
    { blueprint: 'one-task', client, input: {}, id: 'job-a' },
    { blueprint: 'no-such', client, input: {} },
    { blueprint: 'strict', client, input: 'bad' },
    { blueprint: 'one-task', client, input: {}, id: 'job-a' },
    { blueprint: 'strict', client, input: 'good', id: 'job-b' },
    { blueprint: 'one-task', version: 7, client, input: {} },
  ]);
  assert.deepEqual(
    answers.map((answer) => (answer instanceof CapatazError ? answer.code : answer.id)),
    ['job-a', 'BLUEPRINT_NOT_FOUND', 'INPUT_INVALID', 'JOB_EXISTS', 'job-b', 'BLUEPRINT_NOT_FOUND'],
  );
  assert.equal(world.commits.length - before, 1);
});

test('S-5: a create that meets a limit says when to come back', async () => {
  const world = await startWorld({
    blueprints: [oneTask()],
    wrapStore: (store) =>
      storeWith(store, {
        commit: async () => ({
          at: 0,
          changes: [{ type: 'limit', key: 'quota', retryAfterMs: 1_500 }],
          claims: [],
          letters: [],
        }),
      }),
  });
  const answer = await create(world, {});
  assert.ok(answer instanceof CapatazError);
  assert.deepEqual(
    [answer.code, answer.details],
    ['LIMIT', { key: 'quota', retry_after_ms: 1_500 }],
  );
});

test('A-47: foreign and unknown jobs look the same', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const id = await world.create('one-task');
  assert.equal((await world.engine.jobs.get(id, 'client-1')).id, id);
  assert.equal((await world.engine.jobs.get(id, null)).id, id);
  const foreign = world.engine.jobs.get(id, 'client-2');
  await assert.rejects(foreign, { code: 'JOB_NOT_FOUND', message: `there is no job ${id}` });
  const unknown = world.engine.jobs.get('nobody', 'client-2');
  await assert.rejects(unknown, { code: 'JOB_NOT_FOUND', message: 'there is no job nobody' });
});
