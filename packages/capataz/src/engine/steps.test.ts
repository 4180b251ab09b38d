import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transition } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import type { RunningJob } from '../core/handler.ts';
import { startWorld } from './fixtures.ts';

function stepper(run: (job: RunningJob) => Promise<void>): Blueprint {
  return blueprint({
    name: 'stepper',
    version: 1,
    states: {
      work: {
        start: true,
        to: ['again', 'done'],
        retry: { base: '1s', jitter: 0, max: 5 },
        run: async (job) => {
          await run(job);
          return transition(job.data.again === true ? 'done' : 'again');
        },
      },
      again: {
        to: ['work'],
        handle: (job) => {
          job.data.again = true;
          return transition('work');
        },
      },
      done: { end: true },
    },
  });
}

test('S-14 a step is run once over retries of its handler, and anew in another stay in the state', async () => {
  let calls = 0;
  let runs = 0;
  const world = await startWorld({
    blueprints: [
      stepper(async (job) => {
        runs += 1;
        const value = await job.step('pay', () => {
          calls += 1;
          return { receipt: calls };
        });
        assert.deepEqual(value, { receipt: job.data.again === true ? 2 : 1 });
        if (runs < 3) throw new Error('after the effect');
      }),
    ],
  });
  const id = await world.create('stepper');
  await world.advance(10_000);
  assert.equal((await world.job(id)).status, 'finished');
  assert.deepEqual([calls, runs], [2, 4]);
});

test('S-14 a memo survives a crash; a step between effect and memo is repeated', async () => {
  let calls = 0;
  let runs = 0;
  const world = await startWorld({
    blueprints: [
      stepper(async (job) => {
        runs += 1;
        await job.step('pay', () => {
          calls += 1;
          return null;
        });
        if (runs === 1) await new Promise(() => undefined);
      }),
    ],
  });
  const id = await world.create('stepper');
  await world.settle();
  await world.restart();
  await world.advance(10_000);
  assert.equal((await world.job(id)).status, 'finished');
  assert.equal(calls, 2, 'once for each stay in the state');
});

test('S-14 a name that is used twice in one run is an error of the handler', async () => {
  const world = await startWorld({
    blueprints: [
      stepper(async (job) => {
        await job.step('a', () => 1);
        await job.step('a', () => 2);
      }),
    ],
  });
  const id = await world.create('stepper');
  await world.settle();
  const [entry] = await world.entries(id, 'handler_failed');
  assert.match(entry?.reason ?? '', /step "a" is used twice/);
});

test('S-14 a step has a name that every store can keep', async () => {
  for (const name of ['', 'x'.repeat(201)]) {
    const world = await startWorld({
      blueprints: [stepper(async (job) => void (await job.step(name, () => 1)))],
    });
    const id = await world.create('stepper');
    await world.settle();
    const [failed] = await world.entries(id, 'handler_failed');
    assert.match(JSON.stringify(failed), /the name of a step must be 1 to 200 characters/);
  }
});

test('S-14 a memo is refused once the lease is lost, and raises no version', async () => {
  const problems: unknown[] = [];
  const world = await startWorld({
    blueprints: [
      stepper(async (job) => {
        await job.step('first', () => 1);
        if (problems.length > 0) return;
        problems.push('begun');
        await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
        await job.step('late', () => 2).catch((error: unknown) => problems.push(String(error)));
      }),
    ],
  });
  const id = await world.create('stepper');
  await world.settle();
  const { version } = await world.job(id);
  assert.deepEqual(await world.truth.memos(id), { first: 1 });
  await world.engine.jobs.cancel(id, 'ana', 'no');
  await world.settle();
  assert.match(String(problems[1]), /lease was lost/);
  assert.equal((await world.job(id)).version, version + 1);
});
