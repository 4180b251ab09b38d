/** Robots, devices, users and activities, as lists over several pages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worldOf } from '../fake-control-room/world.ts';
import { ControlRoomError } from './contract.ts';
import { orderOf, type Room, room } from './fixtures/room.ts';
import { runnersOf } from './runners.ts';

const many = worldOf({ devices: 250, robots: 250 });

test('L-6: robots and devices come from the two endpoints, all pages of them', async () => {
  const { fake, controlRoom, passing } = room(many);
  const robots = await passing(controlRoom.robots());
  const devices = await passing(controlRoom.devices());
  assert.deepEqual([robots.length, devices.length], [250, 250]);
  for (const endpoint of ['files', 'devices'] as const) {
    const pages = fake.calls.seen(endpoint).map(({ body }) => JSON.parse(body).page);
    assert.deepEqual(
      pages,
      [0, 100, 200].map((offset) => ({ offset, length: 100 })),
    );
  }
});

test('a Control Room that gives shorter pages than asked for, or no totals, or ids as numbers, is read whole', async () => {
  for (const switches of [{ pageCap: 30 }, { answersTotals: false }, { idsAreTexts: false }]) {
    const { controlRoom, passing } = room({ ...many, switches });
    const devices = await passing(controlRoom.devices());
    assert.deepEqual(
      devices.map(({ deviceId }) => deviceId),
      many.devices.map(({ id }) => id),
    );
  }
});

test('half a list is an error, never a list: a page that fails, pages that end early, more pages than allowed', async () => {
  const failing = room({ ...many, faults: [{ endpoint: 'devices', from: 2, status: 500 }] });
  await assert.rejects(failing.passing(failing.controlRoom.devices()), {
    kind: 'unavailable',
    status: 500,
  });
  const page = { offset: 0, total: 5, totalFilter: 5 };
  const body = JSON.stringify({ page, list: [] });
  const short = room({ faults: [{ endpoint: 'devices', status: 200, body }] });
  await assert.rejects(short.passing(short.controlRoom.devices()), /0 rows of 5/);
  const capped = room(many, { maxPages: 2 });
  await assert.rejects(capped.passing(capped.controlRoom.devices()), /more than 2 pages/);
});

test('LH-16: a list whose pages repeat each other is no list; one whose rows moved is read again', async () => {
  const page = (id: number) =>
    JSON.stringify({
      page: { offset: 0, total: 2, totalFilter: 2 },
      list: [{ id, hostName: `PC-${id}`, status: 'CONNECTED' }],
    });
  const same = room({ faults: [{ endpoint: 'devices', status: 200, body: page(1) }] });
  await assert.rejects(same.passing(same.controlRoom.devices()), /rows come twice/);
  const moved = room({
    faults: [
      { endpoint: 'devices', from: 1, times: 3, status: 200, body: page(1) },
      { endpoint: 'devices', from: 4, status: 200, body: page(2) },
    ],
  });
  assert.equal((await moved.passing(moved.controlRoom.devices())).length, 2);
});

test('LH-26: an empty body, an HTML page and JSON that is no list are errors with words', async () => {
  for (const [body, message] of [
    ['', /no JSON object/],
    ['<html>', /no JSON object/],
    ['[1]', /no list/],
    ['{"list":5}', /no list/],
  ] as const) {
    const { controlRoom, passing } = room({ faults: [{ endpoint: 'users', status: 200, body }] });
    await assert.rejects(passing(controlRoom.users()), message);
  }
});

test('a list that fails for the moment is asked for again: after 2, 4 and 8 s, or when the Control Room says', async () => {
  const { fake, controlRoom, passing } = room({
    faults: [{ endpoint: 'users', times: 2, status: 503 }],
  });
  await passing(controlRoom.users());
  const times = fake.calls.seen('users').map(({ at }) => at);
  assert.deepEqual(
    times.map((at) => at - (times[0] ?? 0)),
    [0, 2_000, 6_000],
  );
  const fault = {
    endpoint: 'users',
    times: 1,
    status: 429,
    headers: { 'retry-after': '9' },
  } as const;
  const told = room({ faults: [fault] });
  await told.passing(told.controlRoom.users());
  const [first = 0, second = 0] = told.fake.calls.seen('users').map(({ at }) => at);
  assert.equal(second - first, 9_000);
  const lasting = room({ faults: [{ endpoint: 'users', status: 504 }] });
  await assert.rejects(lasting.passing(lasting.controlRoom.users()), {
    kind: 'unavailable',
    status: 504,
  });
  assert.equal(lasting.fake.calls.count('users'), 4);
});

test('robots are the task bots below the path whose names fit', async () => {
  const file = (id: number, name: string, path = 'Bots\\RPA\\x') => ({ id, name, path });
  const robots = [
    file(1, 'P001_Alta'),
    file(2, 'PX9Z_Baja'),
    file(3, 'PABC_NoDigit'),
    file(4, 'p001_lower'),
    file(5, 'P002_MainLoop'),
    file(6, 'P003_Elsewhere', 'Bots\\Other\\x'),
    file(7, 'X001_Other'),
  ];
  const names = async ({ controlRoom, passing }: Room) =>
    (await passing(controlRoom.robots())).map(({ name }) => name).sort();
  assert.deepEqual(await names(room({ robots })), ['P001_Alta', 'PX9Z_Baja']);
  const all = room({ robots }, { robots: { path: null, names: /(?:)/, leftOut: null } });
  assert.equal((await names(all)).length, 7);
});

test('a device becomes a row of Equipos with its first licensed user; without one it is none', () => {
  const user = (userId: number, licenses: readonly string[], isDisabled = false) => ({
    userId,
    userName: `u${userId}`,
    licenses,
    isDisabled,
  });
  const device = (
    deviceId: number,
    hostName: string,
    users: readonly number[],
    isConnected = true,
  ) => ({
    deviceId,
    hostName,
    status: isConnected ? 'CONNECTED' : 'DISCONNECTED',
    isConnected,
    defaultUserIds: users,
  });
  const users = [
    user(1, ['DEVELOPMENT']),
    user(2, ['RUNTIME', 'IQBOT']),
    user(3, ['RUNTIME'], true),
  ];
  const rows = runnersOf(
    [
      device(10, 'PC-A', [1, 2]),
      device(11, 'PC-B', [1]),
      device(12, 'PC-C', []),
      device(13, 'PC-D', [3]),
      device(14, 'PC-E', [2], false),
      device(15, 'pc-a', [2], false),
    ],
    users,
    ['ATTENDEDRUNTIME', 'RUNTIME'],
  );
  const row = { userId: 2, userName: 'u2', license: 'RUNTIME, IQBOT' };
  assert.deepEqual(rows, [
    { deviceId: 10, hostName: 'PC-A', isConnected: true, ...row },
    { deviceId: 14, hostName: 'PC-E', isConnected: false, ...row },
  ]);
});

async function deployed({ fake, controlRoom, passing }: Room, count: number): Promise<string[]> {
  for (let n = 1; n <= count; n += 1) {
    const order = orderOf({ userId: 5_000 + n, automationName: `slot-${n}` });
    assert.equal((await passing(controlRoom.deploy(order))).outcome, 'accepted');
  }
  return fake.runs.map(({ deploymentId }) => deploymentId);
}

test('L-41: deployments are asked about in batches, as an `or` of ids with the page that they need', async () => {
  const place = room(worldOf({ devices: 60, robots: 1 }));
  const ids = await deployed(place, 60);
  const report = await place.passing(place.controlRoom.activitiesOf(ids));
  assert.equal(report.found.length, 60);
  assert.deepEqual(report.answered, ids);
  const asked = place.fake.calls.seen('activity').map(({ body }) => JSON.parse(body));
  assert.deepEqual(
    asked.map(({ filter }) => filter.operands.length),
    [25, 25, 10],
  );
  const [{ filter, page }] = asked;
  assert.deepEqual(page, { offset: 0, length: 100 });
  assert.equal(filter.operator, 'or');
  assert.deepEqual(filter.operands[0], { operator: 'eq', field: 'deploymentId', value: ids[0] });
});

test('LH-13: ids of a batch that failed are not missing; several runs of one deployment all come', async () => {
  const place = room({
    ...worldOf({ devices: 3, robots: 1, script: { activities: 2 } }),
    faults: [{ endpoint: 'activity', times: 1, status: 500 }],
  });
  const ids = await deployed(place, 3);
  const report = await place.passing(
    place.controlRoom.activitiesOf([...ids, ...new Array(25).fill('x')]),
  );
  assert.deepEqual(report.answered, ['x', 'x', 'x']);
  assert.deepEqual(
    report.failures.map(({ deploymentIds }) => deploymentIds.length),
    [25],
  );
  const again = await place.passing(place.controlRoom.activitiesOf(ids));
  assert.equal(again.found.length, 6);
});

test('LH-13: a Control Room that is not reached is not asked about the other batches', async () => {
  const { fake, controlRoom, passing } = room();
  await passing(controlRoom.users());
  fake.faults.add({ endpoint: 'activity', reset: 'before' });
  const { failures, answered } = await passing(controlRoom.activitiesOf(new Array(60).fill('x')));
  assert.deepEqual(
    failures.map(({ kind, deploymentIds }) => [kind, deploymentIds.length]),
    [
      ['unreachable', 25],
      ['unreachable', 25],
      ['unreachable', 10],
    ],
  );
  assert.deepEqual(answered, []);
  assert.equal(fake.calls.count('activity'), 4);
});

test('instants are UTC with up to nine digits behind the second, and 1970 says that there is none', async () => {
  for (const fractionDigits of [0, 3, 9]) {
    const place = room({ switches: { fractionDigits, saysEpoch: true } });
    const begun = place.clock.now();
    const ids = await deployed(place, 1);
    await place.clock.advance(1_500);
    const [running] = (await place.passing(place.controlRoom.activitiesOf(ids))).found;
    const startedAt = place.fake.runs[0]?.startedAt ?? 0;
    assert.equal(
      running?.startedAt,
      fractionDigits === 0 ? Math.floor(startedAt / 1_000) * 1_000 : startedAt,
    );
    assert.ok((running?.startedAt ?? 0) >= begun);
    assert.equal(running?.endedAt, null);
    await place.clock.advance(60_000);
    const [ended] = (await place.passing(place.controlRoom.activitiesOf(ids))).found;
    assert.deepEqual([ended?.status, ended?.endedAt !== null], ['COMPLETED', true]);
  }
});

test('S-84: a run is looked up by robot, device, user, name, status and time, whatever can be filtered there', async () => {
  const place = room();
  const { controlRoom, passing, clock } = place;
  await deployed(place, 2);
  await clock.advance(2_000);
  const later = clock.now();
  await passing(controlRoom.deploy(orderOf({ robotId: 9_002, automationName: 'slot-3' })));
  const found = async (query: Parameters<typeof controlRoom.activities>[0]) =>
    (await passing(controlRoom.activities(query))).map((run) => run.automationName).sort();
  assert.deepEqual(await found({ robotId: 9_001 }), ['slot-1', 'slot-2']);
  assert.deepEqual(await found({ deviceId: 101 }), ['slot-1', 'slot-3']);
  assert.deepEqual(await found({ userId: 5_002 }), ['slot-2']);
  assert.deepEqual(await found({ deviceId: 101, automationName: 'slot-3' }), ['slot-3']);
  assert.deepEqual(await found({ deviceId: 101, statuses: ['RUNNING'] }), ['slot-1']);
  assert.deepEqual(await found({ deviceId: 101, since: later }), ['slot-3']);
});

test('a deployment is in no list before it is indexed', async () => {
  const place = room({ switches: { indexingDelayMs: 30_000 } });
  const ids = await deployed(place, 1);
  const report = await place.passing(place.controlRoom.activitiesOf(ids));
  assert.deepEqual([report.found.length, report.answered], [0, ids]);
  await place.clock.advance(30_000);
  assert.equal((await place.passing(place.controlRoom.activitiesOf(ids))).found.length, 1);
});

test('a run is stopped by the ids of its activities, and what has ended is said to be so', async () => {
  const place = room();
  const { controlRoom, passing, fake, clock } = place;
  const [id = ''] = await deployed(place, 1);
  await clock.advance(5_000);
  assert.deepEqual(await passing(controlRoom.stop(id)), { outcome: 'asked' });
  assert.equal(fake.runs[0]?.status, 'RUN_ABORTED');
  assert.deepEqual(JSON.parse(fake.calls.seen('manage')[0]?.body ?? ''), {
    stop_executions: { execution_ids: fake.runs[0]?.activityIds },
  });
  assert.deepEqual(await passing(controlRoom.stop(id)), { outcome: 'not_running' });
  const [, other = ''] = await deployed(place, 2);
  fake.faults.add({ endpoint: 'manage', status: 403, body: '{"message":"no permission"}' });
  assert.partialDeepStrictEqual(await passing(controlRoom.stop(other)), { outcome: 'refused' });
});

test('LH-5: how far the Control Room’s clock is ahead is known after the first answer', async () => {
  const { fake, controlRoom, passing } = room({ switches: { clockAheadMs: 90_000 } });
  assert.equal(controlRoom.clockSkewMs(), null);
  await passing(controlRoom.devices());
  assert.ok(Math.abs((controlRoom.clockSkewMs() ?? 0) - 90_000) <= 500);
  // An answer that was long under way says nothing.
  fake.set({ clockAheadMs: 0 });
  fake.faults.add({ endpoint: 'devices', answerDelayMs: 10_000 });
  await passing(controlRoom.devices());
  assert.ok((controlRoom.clockSkewMs() ?? 0) > 89_000);
});

test('errors of lists say which list, and keep the status', async () => {
  const { controlRoom, passing } = room({
    faults: [{ endpoint: 'files', status: 403, body: '{"message":"no permission"}' }],
  });
  await assert.rejects(passing(controlRoom.robots()), (error) => {
    assert.ok(error instanceof ControlRoomError);
    assert.match(error.message, /files\/list: 403 no permission/);
    return error.kind === 'refused' && error.status === 403;
  });
});
