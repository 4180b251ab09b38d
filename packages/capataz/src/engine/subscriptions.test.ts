import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blueprint } from '../core/blueprint.ts';
import { emit } from '../core/emit.ts';
import { type WaitForOptions, waitFor } from '../core/wait-actions.ts';
import { startWorld } from './fixtures.ts';

const minute = 60_000;

/** Silence after 5 min, a poll every 2 min: the figures of the coding seed. */
const figures = {
  on: { answer: 'done', silence: 'silent' },
  silence: { after: '5m' },
  poll: { every: '2m', emit: emit('topic', 'still there?', null) },
  subscription: 'answers',
} as const;

async function begin(options: WaitForOptions = figures) {
  const listens = blueprint({
    name: 'listens',
    version: 1,
    states: {
      listen: {
        start: true,
        to: ['done', 'silent'],
        retry: { max: 0 },
        handle: () => waitFor(options as typeof figures),
      },
      silent: { end: 'failed' },
      done: { end: true },
    },
  });
  // The steady instant since which the subscription is live; null: it is down.
  const bus = { liveSince: 0 as number | null };
  const world = await startWorld({
    blueprints: [listens],
    liveForMs: (name) => {
      if (name !== 'answers') return null;
      return bus.liveSince === null ? 0 : world.clock.now() - bus.liveSince;
    },
  });
  bus.liveSince = world.clock.now();
  const id = await world.create('listens');
  return { world, id, bus, state: async () => (await world.job(id)).state };
}

test('S-69 a subscription that is live all the time changes nothing', async () => {
  const { world, id, state } = await begin();
  await world.advance(5 * minute - 1_000);
  assert.equal(await state(), 'listen');
  await world.advance(1_001);
  assert.equal(await state(), 'silent');
  assert.equal((await world.entries(id, 'silence_prolonged')).length, 0);
});

test('S-69 while the subscription is down silence means nothing, and afterwards there is one poll period', async () => {
  const { world, id, bus, state } = await begin();
  await world.advance(4 * minute);
  bus.liveSince = null;
  await world.advance(60 * minute);
  assert.equal(await state(), 'listen');
  bus.liveSince = world.clock.now();
  await world.advance(2 * minute - 1_000);
  assert.equal(await state(), 'listen');
  await world.advance(2 * minute + 2_000);
  assert.equal(await state(), 'silent');
  const [first] = await world.entries(id, 'silence_prolonged');
  assert.equal(first?.reason, 'subscription answers is down');
  assert.equal(first?.delayMs, 2 * minute);
});

test('S-69 an outage in the middle leaves one poll period from its end, to the millisecond', async () => {
  const { world, id, bus, state } = await begin();
  await world.advance(minute);
  bus.liveSince = null;
  await world.advance(3.5 * minute);
  bus.liveSince = world.clock.now();
  // 4:30. The silence would end at 5:00, and ends at 6:30.
  await world.advance(2 * minute - 1);
  assert.equal(await state(), 'listen');
  await world.advance(2);
  assert.equal(await state(), 'silent');
  assert.equal((await world.entries(id, 'silence_prolonged'))[0]?.delayMs, 1.5 * minute);
});

test('S-69 an answer that lay with the broker comes in time; the deadline in all is not prolonged', async () => {
  const { world, id, bus, state } = await begin({ ...figures, deadline: '1h' });
  bus.liveSince = null;
  await world.advance(30 * minute);
  bus.liveSince = world.clock.now();
  const { client } = await world.job(id);
  const signal = { to: { jobId: id }, name: 'answer', id: 's', data: null };
  await world.engine.signals.send([{ ...signal, client, actor: 'bus' }]);
  assert.equal(await state(), 'done');
  const other = await begin({ ...figures, deadline: '1h' });
  other.bus.liveSince = null;
  await other.world.advance(60 * minute + 1);
  assert.equal((await other.world.job(other.id)).error?.code, 'WAIT_TIMEOUT');
});

test('S-69 without a poll the wait has two minutes more; a name that nobody has is refused', async () => {
  const { poll: _, ...silentOnly } = figures;
  const { world, bus, state } = await begin(silentOnly);
  bus.liveSince = null;
  await world.advance(5 * minute);
  bus.liveSince = world.clock.now();
  await world.advance(2 * minute - 1);
  assert.equal(await state(), 'listen');
  await world.advance(2 * minute);
  assert.equal(await state(), 'silent');
  const misspelt = await begin({ ...figures, subscription: 'anwsers' });
  const job = await misspelt.world.job(misspelt.id);
  assert.equal(job.status, 'quarantined');
  assert.match(job.error?.message ?? '', /"anwsers", which this server does not have/);
});
