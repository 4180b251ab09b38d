import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationMs } from '../std/duration.ts';
import { everyMinute, hour, Instances, lastingFor, minute, second } from './fixtures/instances.ts';

test('A-44: each slot starts one job, whose attributes say which', async () => {
  const world = new Instances();
  const { runner } = await world.start();
  await world.advance(3 * minute + 1);
  assert.deepEqual(await world.started(), [1, 2, 3]);
  const [job] = await world.truth.jobs({ attributes: { team: 'ops' }, limit: 1 });
  assert.equal(job?.options.attributes.schedule, 'tick');
  assert.equal(job?.client, 'client-1');
  await runner.stop();
  await world.advance(5 * minute);
  assert.deepEqual(await world.started(), [1, 2, 3]);
});

test('A-44: what became of each slot is remembered, with its job, and counted once', async () => {
  const night = { from: '00:03', to: '00:06', zone: 'UTC' };
  const world = new Instances({ night });
  const fields = { ...lastingFor('90s'), overlap: 'skip', blackouts: ['night'] } as const;
  const one = await world.start(fields);
  const other = await world.start(fields);
  await world.advance(7 * minute + second);
  assert.deepEqual(await world.records(), [
    'started 1',
    'busy 2',
    'blackout 3-5',
    'started 6',
    'busy 7',
  ]);
  const { recent, handled } = await world.row();
  const [job] = await world.truth.jobs({ attributes: { schedule: 'tick' }, limit: 1 });
  assert.equal(recent[3]?.jobId, job?.id);
  assert.equal(recent[2]?.reason, 'night');
  assert.equal(handled, recent.at(-1)?.last);
  assert.deepEqual(world.counted, { started: 2, busy: 2, blackout: 3 });
  await Promise.all([one.stop(), other.stop()]);
});

test('A-44: no more than the latest records are kept', async () => {
  const world = new Instances();
  await world.start();
  await world.advance(hour + second);
  const records = await world.records();
  assert.deepEqual([records.length, records[0], records.at(-1)], [20, 'started 41', 'started 60']);
});

test('what was missed while no server ran is caught up with as the schedule says, and told', async () => {
  for (const [policy, expected, missed] of [
    ['skip', [1, 2, 10], ['missed 3-9']],
    ['last', [1, 2, 9, 10], ['missed 3-8']],
    ['all', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], []],
  ] as const) {
    const world = new Instances();
    const catchUp = { policy, limit: 100, toleranceMs: 10 * second };
    const before = await world.start({ catchUp });
    await world.advance(2 * minute + second);
    before.kill();
    await world.advance(7.5 * minute);
    await world.start({ catchUp });
    await world.advance(minute);
    assert.deepEqual(await world.started(), expected, policy);
    const told = (await world.records()).filter((record) => record.startsWith('missed'));
    assert.deepEqual(told, missed, policy);
    assert.equal(world.counted.missed ?? 0, 10 - expected.length);
  }
});

test('A-44: a schedule that was seen and has never started is caught up with', async () => {
  const world = new Instances();
  const before = await world.start();
  await world.advance(30 * second);
  before.kill();
  await world.advance(4 * minute);
  await world.start();
  assert.deepEqual(await world.started(), [4]);
  assert.deepEqual(await world.records(), ['missed 1-3', 'started 4']);
});

test('A-44 A-46: a schedule knows where it stands when retention has removed its last job', async () => {
  const day = durationMs('1d');
  const world = new Instances();
  const monthly = { rule: { monthlyDates: [1], time: '00:05' } } as const;
  const before = await world.start(monthly);
  await world.advance(10 * minute);
  assert.deepEqual(await world.started(), [5]);
  before.kill();
  await world.advance(20 * day);
  await world.truth.forgetEnded({ olderThanMs: 7 * day, keepAtMost: null, limit: 10 });
  assert.deepEqual(await world.started(), []);
  const next = await world.start(monthly);
  await world.advance(minute);
  assert.deepEqual(await world.started(), []);
  next.kill();
  await world.advance(11 * day);
  await world.start(monthly);
  assert.deepEqual(await world.started(), [(31 * day) / minute + 5]);
});

test('a job whose server died before it could note it counts, however old the slot is', async () => {
  const world = new Instances();
  const catchUp = { policy: 'skip', limit: 100, toleranceMs: second } as const;
  const dying = await world.start({ catchUp });
  dying.freezeAt({ verb: 'commit', moment: 'after', forMs: hour });
  await world.advance(minute + second);
  dying.kill();
  assert.deepEqual(await world.records(), []);
  await world.advance(2 * minute + second);
  await world.start({ catchUp });
  assert.deepEqual(await world.started(), [1]);
  assert.deepEqual(await world.records(), ['started 1', 'missed 2-3']);
  assert.deepEqual(world.counted, { started: 1, missed: 2 });
});

test('while the store is down a slot waits, and starts when it is back', async () => {
  const world = new Instances();
  await world.start();
  await world.advance(30 * second);
  world.isStoreDown = true;
  await world.advance(50 * second);
  assert.ok(world.lines.includes('a schedule could not be looked at; again soon'));
  world.isStoreDown = false;
  await world.advance(40 * second);
  assert.deepEqual(await world.started(), [1, 2]);
});

test('a slot whose job is refused is told and remembered, and the next one comes', async () => {
  const world = new Instances();
  await world.start({ start: { ...everyMinute.start, blueprint: 'gone' } });
  await world.advance(2 * minute + second);
  const refused = 'a slot has no job: it was refused';
  assert.deepEqual(world.lines, [refused, refused]);
  assert.deepEqual(await world.records(), ['refused 1-2']);
  assert.match((await world.row()).recent[0]?.reason ?? '', /^BLUEPRINT_NOT_FOUND: /);
});

const isAhead =
  'the last slot lies ahead of the clock: nothing starts until then, or until the schedule is resumed';

test('a wall clock that is set forward or back makes no slot twice', async () => {
  const world = new Instances();
  await world.start({}, { shared: false });
  await world.advance(2 * minute + 1);
  world.clock.step(5 * minute);
  await world.advance(minute);
  world.clock.step(-6 * minute);
  await world.advance(9 * minute);
  const started = await world.started();
  assert.deepEqual([...new Set(started)], started);
  assert.equal(started.at(-1), 11);
  assert.ok(world.lines.includes(isAhead));
});

test('A-44 a schedule whose last slot lies ahead of the clock goes on from now when it is resumed', async () => {
  const world = new Instances();
  const { runner } = await world.start({}, { shared: false });
  await world.advance(minute + second);
  world.clock.step(24 * hour);
  await world.advance(2 * minute);
  world.clock.step(-24 * hour);
  await world.advance(2 * minute);
  const before = await world.started();
  assert.deepEqual(before.slice(0, 2), [1, (24 * hour) / minute + 1]);
  await runner.resume('ana');
  await world.advance(2 * minute);
  const fresh = (await world.started()).filter((slot) => !before.includes(slot));
  assert.deepEqual(fresh, [6, 7]);
});

test('B-050 two instances: a server whose clock is a day ahead stops no schedule, and starts no slot early', async () => {
  const world = new Instances();
  await world.start({}, { skewMs: 24 * hour });
  await world.start();
  await world.advance(3 * minute + second);
  assert.deepEqual(await world.started(), [1, 2, 3]);
  assert.equal((await world.row()).handled, world.clock.now() - second);
  assert.deepEqual(world.lines, []);
});
