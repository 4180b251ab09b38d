/** Several instances over one store, killed, frozen, restarted and with clocks of their own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Schedule } from '../schedule/schedule.ts';
import {
  everyMinute,
  hour,
  type Instance,
  Instances,
  lastingFor,
  minute,
  second,
} from './fixtures/instances.ts';

const upTo = (last: number): number[] => Array.from({ length: last }, (_, place) => place + 1);

/** How long after its slot each job was made, at most. */
async function lateness(world: Instances): Promise<number> {
  const jobs = await world.truth.jobs({ attributes: { schedule: 'tick' }, limit: 1_000 });
  return Math.max(
    ...jobs.map(
      ({ createdAt, options }) => createdAt - Date.parse(String(options.attributes.slot)),
    ),
  );
}

const leaderOf = (instances: readonly Instance[]): number =>
  instances.reduce(
    (best, { firedAt }, place) => (firedAt > (instances[best]?.firedAt ?? -1) ? place : best),
    0,
  );

for (const count of [2, 3]) {
  test(`B-047 A-61: ${count} instances; for 60 minutes the one that fired last is killed at any second and started again: 60 slots make 60 jobs`, async () => {
    const world = new Instances();
    const instances: Instance[] = [];
    for (let place = 0; place < count; place += 1) instances.push(await world.start());
    let killedLeaders = 0;
    for (let at = 0; at < 60; at += 1) {
      const leap = (at * 7_919_113) % minute;
      await world.advance(leap);
      const leader = leaderOf(instances);
      if ((instances[leader]?.firedAt ?? -1) >= 0) killedLeaders += 1;
      instances[leader]?.kill();
      instances[leader] = await world.start();
      await world.advance(minute - leap);
    }
    assert.ok(killedLeaders > 50, `${killedLeaders} killed instances had fired`);
    assert.deepEqual(await world.started(), upTo(60));
    assert.ok((await lateness(world)) < second);
    assert.deepEqual(world.counted, { started: 60 });
    assert.deepEqual(world.lines, []);
  });
}

const verbs = ['schedules', 'keepSchedule', 'commit', 'jobs'] as const;
const moments = ['before', 'after'] as const;

test('B-047 B-022: two instances with clocks of their own, dying or freezing in the middle of a tick: each slot makes one job', async () => {
  const mishap = fc.record({
    victim: fc.integer({ min: 0, max: 1 }),
    verb: fc.constantFrom(...verbs),
    moment: fc.constantFrom(...moments),
    forMs: fc.constantFrom(10 * second, 3 * minute),
    dies: fc.boolean(),
  });
  const cases = fc.record({
    mishaps: fc.array(mishap, { minLength: 5, maxLength: 15 }),
    skews: fc.tuple(fc.constant(0), fc.constantFrom(0, -3 * second, 7 * second)),
  });
  const property = fc.asyncProperty(cases, async ({ mishaps, skews }) => {
    const world = new Instances();
    const catchUp = { ...everyMinute.catchUp, policy: 'all' } as const;
    const start = (place: number) => world.start({ catchUp }, { skewMs: skews[place] ?? 0 });
    const instances = [await start(0), await start(1)];
    for (const { victim, dies, ...freeze } of mishaps) {
      const one = instances[victim];
      one?.freezeAt(freeze);
      await world.advance(minute);
      if (!dies) continue;
      one?.kill();
      instances[victim] = await start(victim);
    }
    // Until everybody has thawed, and another slot has come.
    await world.advance(5.5 * minute);
    const started = await world.started();
    assert.deepEqual(started, upTo(mishaps.length + 5));
    // What the dead have counted is gone with them.
    const haveDied = mishaps.some(({ dies }) => dies);
    const counted = world.counted.started ?? 0;
    assert.ok(haveDied ? counted <= started.length : counted === started.length);
  });
  await fc.assert(property, { numRuns: 40, seed: 22 });
});

for (const verb of verbs) {
  for (const moment of moments) {
    test(`B-022: two instances; one freezes for 10 s ${moment} its call of ${verb} in the middle of a tick, and wakes up late: each slot makes one job`, async () => {
      const world = new Instances();
      // As often as the freeze is long, so that the other has dealt with the next slot, too.
      const rule = { every: '10s' } as const;
      const catchUp = { policy: 'all', limit: 100, toleranceMs: second } as const;
      // It reads the jobs that are open.
      const overlap = 'cancel_previous';
      const frozen = await world.start({ rule, catchUp, overlap });
      await world.start({ rule, catchUp, overlap });
      await world.advance(25 * second);
      frozen.freezeAt({ verb, moment, forMs: 10 * second });
      await world.advance(35 * second + second);
      const tenths = (await world.started()).map((slot) => Math.round(slot * 6));
      assert.deepEqual(tenths, upTo(6));
      assert.equal((await world.row()).handled, world.clock.now() - second);
      assert.deepEqual(world.counted, { started: 6 });
      assert.deepEqual(world.lines, []);
    });
  }
}

test('B-022: two instances; one that was frozen for days neither starts what was dealt with nor says so of it', async () => {
  const world = new Instances();
  const skip = { catchUp: { ...everyMinute.catchUp, policy: 'skip' } } as const;
  const frozen = await world.start(skip);
  await world.start(skip);
  await world.advance(30 * second);
  frozen.freezeAt({ verb: 'schedules', moment: 'after', forMs: 3 * hour });
  await world.advance(3 * hour + 2 * minute);
  assert.deepEqual(await world.started(), upTo(182));
  assert.deepEqual(world.counted, { started: 182 });
});

test('B-049: two instances restarted ten times, the file read again each time: one job a slot, one row', async () => {
  const world = new Instances();
  let instances = [await world.start(), await world.start()];
  for (let round = 0; round < 10; round += 1) {
    await world.advance(minute / 2 + round * second);
    for (const one of instances) round % 2 === 0 ? one.kill() : await one.stop();
    // Three at once.
    instances = await Promise.all([world.start(), world.start(), world.start()]);
    await world.advance(minute / 2 - round * second);
  }
  await world.advance(second);
  assert.deepEqual(await world.started(), upTo(10));
  assert.equal((await world.truth.schedules()).length, 1);
});

test('B-049: two instances; a changed entry replaces the old one, a removed one never fires again', async () => {
  const world = new Instances();
  const other = { name: 'other', rule: { every: '2m' } } as const;
  const both = async (fields: Partial<Schedule>): Promise<Instance[]> => [
    await world.start(fields),
    await world.start(fields),
  ];
  const first = [...(await both({})), ...(await both(other))];
  await world.advance(4 * minute + second);
  assert.deepEqual(await world.started('other'), [2, 4]);
  for (const one of first) await one.stop();
  // At the half of each third minute, and `other` is gone.
  const anchor = new Date(world.clock.now() - second - minute / 2).toISOString();
  await both({ rule: { every: '3m', anchor } });
  await world.advance(8 * minute);
  assert.deepEqual(await world.started(), [1, 2, 3, 4, 6.5, 9.5]);
  assert.deepEqual(await world.started('other'), [2, 4]);
});

for (const [overlap, slots, open, busy] of [
  ['allow', [1, 2, 3, 4, 5], [3, 4, 5], []],
  ['skip', [1, 4], [4], [2, 3, 5]],
  ['queue', [1, 2, 3, 4, 5], [2, 3, 4, 5], []],
  ['cancel_previous', [1, 2, 3, 4, 5], [5], []],
] as const) {
  test(`B-050: two instances, overlap ${overlap}, jobs longer than the period: the rule acts once a slot and never on the slot's own job`, async () => {
    const world = new Instances();
    const fields = { overlap, ...lastingFor('2m30s') };
    const [one] = [await world.start(fields), await world.start(fields)];
    const verb = overlap === 'cancel_previous' ? 'jobs' : 'commit';
    // One of them is late, and so decides about slots whose jobs run already.
    for (const slot of upTo(5)) {
      await world.advance(minute - second);
      if (slot % 2 === 0) one?.freezeAt({ verb, moment: 'before', forMs: 5 * second });
      await world.advance(second);
    }
    await world.advance(10 * second);
    assert.deepEqual(await world.started(), slots);
    assert.deepEqual(await world.open(), open);
    assert.deepEqual(world.counted, {
      started: slots.length,
      ...(busy.length === 0 ? {} : { busy: busy.length }),
    });
    const jobs = await world.truth.jobs({ attributes: { schedule: 'tick' }, limit: 100 });
    const cancelled = jobs.filter(({ status }) => status === 'cancelled');
    assert.equal(cancelled.length, overlap === 'cancel_previous' ? 4 : 0);
    // By the slot that came next, and not by a late look at their own.
    for (const { endedAt, options } of cancelled) {
      const slot = Date.parse(String(options.attributes.slot));
      assert.ok((endedAt ?? 0) - slot >= minute);
    }
  });
}

for (const [policy, passing, caughtUp] of [
  ['skip', 1, []],
  ['skip', 3, []],
  ['last', 1, [3]],
  ['last', 3, [5]],
  ['all', 3, [3, 4, 5]],
] as const) {
  test(`B-050: two instances, catch_up ${policy}: ${passing} slots pass in a pause, and ${caughtUp.length} start when it ends`, async () => {
    const world = new Instances();
    const fields = { catchUp: { ...everyMinute.catchUp, policy } };
    const [one, other] = [await world.start(fields), await world.start(fields)];
    await world.advance(2.2 * minute);
    const { pausedAt, changedBy } = await one.runner.pause('ana');
    assert.deepEqual([pausedAt, changedBy], [world.clock.now(), 'ana']);
    await world.advance(passing * minute);
    assert.deepEqual(await world.started(), [1, 2]);
    // Within the tolerance of the last one.
    await other.runner.resume('bob');
    await world.advance(second);
    assert.deepEqual(await world.started(), [1, 2, ...caughtUp]);
    await world.advance(2 * minute);
    const after = [passing + 3, passing + 4];
    assert.deepEqual(await world.started(), [1, 2, ...caughtUp, ...after]);
    assert.equal(world.counted.missed ?? 0, passing - caughtUp.length);
  });
}

test('B-050: two instances; a pause outlives both, and the one that resumes may die at once', async () => {
  const world = new Instances();
  const before = [await world.start(), await world.start()];
  await world.advance(minute + second);
  await before[0]?.runner.pause('ana');
  for (const one of before) one.kill();
  await world.advance(3 * minute);
  const [one] = [await world.start(), await world.start()];
  await world.advance(3 * minute);
  assert.deepEqual(await world.started(), [1]);
  one?.freezeAt({ verb: 'keepSchedule', moment: 'after', forMs: hour });
  void one?.runner.resume('ana');
  await world.advance(0);
  one?.kill();
  await world.advance(minute);
  // The other looked at its next slot, which makes up for those in the pause.
  assert.deepEqual(await world.started(), [1, 8]);
  assert.deepEqual(await world.records(), ['started 1', 'missed 2-7', 'started 8']);
});

test('B-050: two instances; a pause ends a long catching up of the other in its middle', async () => {
  const world = new Instances();
  const fields = { catchUp: { policy: 'all', limit: 1_000, toleranceMs: 0 } } as const;
  const before = await world.start(fields);
  await world.advance(second);
  before.kill();
  await world.advance(hour);
  const freeze = { verb: 'commit', moment: 'after', forMs: 5 * minute } as const;
  await world.start(fields, { freeze });
  const other = await world.start({ ...fields, isPaused: true });
  await other.runner.pause('ana');
  await world.advance(10 * minute);
  assert.deepEqual(await world.started(), [1]);
  assert.equal(world.counted.missed, undefined);
});
