import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { oneTask, startWorld } from './fixtures.ts';

test('B-095 a redriven job keeps every setting and is quarantined again, with both stories in its book', async () => {
  const options = { priority: 7, resultTimeout: '1h', executionLimit: '2m' } as const;
  const world = await startWorld({
    blueprints: [oneTask({ ...options, retry: { max: 1, base: '1s', jitter: 0 } })],
  });
  const worker = await world.worker('w');
  const id = await world.create('one-task', {
    client: 'client-1',
    attributes: { order: 5 },
    metadata: { from: 'test' },
    correlationId: 'c-1',
  });
  const before = { job: await world.job(id), task: await world.task(id) };
  const failForGood = async (): Promise<void> => {
    await worker.fail(await worker.takeOne());
    await world.advance(1_000);
    await worker.fail(await worker.takeOne());
    assert.equal((await world.job(id)).status, 'quarantined');
  };
  await failForGood();
  await world.engine.jobs.redrive(id, 'operator');
  const after = { job: await world.job(id), task: await world.task(id) };
  assert.deepEqual(after.task.spec, before.task.spec);
  assert.deepEqual([after.task.id, after.task.failures], [before.task.id, 0]);
  const { options: kept, client, input, correlationId, parent } = after.job;
  assert.deepEqual(
    { kept, client, input, correlationId, parent },
    {
      kept: before.job.options,
      client: before.job.client,
      input: before.job.input,
      correlationId: 'c-1',
      parent: before.job.parent,
    },
  );
  await failForGood();
  assert.equal((await world.entries(id, 'job_quarantined')).length, 2);
  await world.engine.jobs.redrive(id, 'operator');
  await worker.report(await worker.takeOne());
  assert.equal((await world.job(id)).status, 'finished');
});

test('A-25 a dismissed job ends as failed with the error that parked it, and cannot be redriven', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const worker = await world.worker('w');
  const id = await world.create('one-task');
  await worker.fail(await worker.takeOne(), 'PERMANENT_ERROR');
  const job = await world.engine.jobs.dismiss(id, 'ana', 'hopeless');
  assert.deepEqual([job.status, job.error?.code], ['failed', 'PERMANENT_ERROR']);
  await assert.rejects(world.engine.jobs.redrive(id, 'ana'), /finished|failed/);
  const [entry] = await world.entries(id, 'job_dismissed');
  assert.deepEqual([entry?.actor, entry?.reason], ['ana', 'hopeless']);
});

test('S-70 a run handler shows its progress live, and it is gone when the handler has ended', async () => {
  const gate = Promise.withResolvers<void>();
  const world = await startWorld({
    blueprints: [
      blueprint({
        name: 'slow',
        version: 1,
        states: {
          work: {
            start: true,
            to: ['done'],
            run: async (job) => {
              job.progress(0.5, 'half');
              await gate.promise;
              return transition('done');
            },
          },
          done: { end: true },
        },
      }),
    ],
  });
  const told: (string | null)[] = [];
  world.engine.events.subscribe((jobId) => told.push(jobId));
  const id = await world.create('slow');
  await world.settle();
  const progress = world.engine.jobs.progress(id);
  assert.deepEqual([progress?.fraction, progress?.message], [0.5, 'half']);
  assert.ok(told.includes(id));
  gate.resolve();
  await world.settle();
  assert.equal((await world.job(id)).status, 'finished');
  assert.equal(world.engine.jobs.progress(id), null);
});
