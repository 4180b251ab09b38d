/** What the fake does by its scripts and switches, as its clients see it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from 'capataz/testing';
import { orderOf, room } from '../control-room/fixtures/room.ts';
import { FakeControlRoom } from './fake-control-room.ts';
import type { FakeCallback } from './runs.ts';
import { type CallbackSwitches, launcherUser, type RobotScript, worldOf } from './world.ts';

const hourMs = 3_600_000;

function scripted(script: RobotScript, switches = {}) {
  return room({ ...worldOf({ devices: 2, robots: 2, script }), switches });
}

type Place = ReturnType<typeof room>;

const statusOf = ({ fake }: Place, nth = 0) => fake.runs[nth]?.status;

async function shown({ controlRoom, fake, passing }: Place): Promise<(string | undefined)[]> {
  const ids = fake.runs.map(({ deploymentId }) => deploymentId);
  const { found } = await passing(controlRoom.activitiesOf(ids));
  return ids.map((id) => found.find(({ deploymentId }) => deploymentId === id)?.status);
}

test('a run is pending, runs and ends as its script says', async () => {
  const place = scripted({ pendingMs: 5_000, durationMs: [10_000, 30_000], end: 'RUN_FAILED' });
  await place.passing(place.controlRoom.deploy(orderOf()));
  assert.deepEqual(await shown(place), ['PENDING_EXECUTION']);
  await place.clock.advance(5_000);
  assert.deepEqual(await shown(place), ['RUNNING']);
  await place.clock.advance(20_000);
  assert.deepEqual(await shown(place), ['RUN_FAILED']);
  const endless = scripted({ durationMs: null, saysUpdate: true });
  await endless.passing(endless.controlRoom.deploy(orderOf()));
  await endless.clock.advance(24 * hourMs);
  assert.deepEqual(await shown(endless), ['UPDATE']);
});

test('a run gets UNKNOWN for a time or for good, or vanishes from the lists', async () => {
  const passing = scripted({ durationMs: hourMs, unknown: { afterMs: 10_000, forMs: 10_000 } });
  await passing.passing(passing.controlRoom.deploy(orderOf()));
  await passing.clock.advance(15_000);
  assert.deepEqual(await shown(passing), ['UNKNOWN']);
  await passing.clock.advance(10_000);
  assert.deepEqual(await shown(passing), ['RUNNING']);
  const vanishing = scripted({ durationMs: null, vanishesAfterMs: 10_000 });
  await vanishing.passing(vanishing.controlRoom.deploy(orderOf()));
  await vanishing.clock.advance(20_000);
  assert.deepEqual([await shown(vanishing), statusOf(vanishing)], [[undefined], 'RUNNING']);
});

test('a second deployment to a busy device is queued behind the first, not refused', async () => {
  const place = scripted({ pendingMs: 0, durationMs: hourMs });
  for (const automationName of ['a', 'b', 'c'])
    await place.passing(place.controlRoom.deploy(orderOf({ automationName })));
  await place.clock.advance(0);
  assert.deepEqual(await shown(place), ['RUNNING', 'QUEUED', 'QUEUED']);
  await place.clock.advance(hourMs);
  assert.deepEqual(await shown(place), ['COMPLETED', 'RUNNING', 'QUEUED']);
});

test('a disconnected device refuses with 412 or 400, or queues for hours until it is back', async () => {
  for (const [offline, status] of [
    ['refuse_412', 412],
    ['refuse_400', 400],
  ] as const) {
    const place = scripted({}, { offline });
    place.fake.setDeviceStatus(101, 'DISCONNECTED');
    const outcome = await place.passing(place.controlRoom.deploy(orderOf()));
    assert.partialDeepStrictEqual(outcome, { status, reason: 'device_unavailable' });
  }
  const place = scripted({ pendingMs: 0 }, { offline: 'queue' });
  place.fake.setDeviceStatus(101, 'OFFLINE');
  await place.passing(place.controlRoom.deploy(orderOf()));
  await place.clock.advance(3 * hourMs);
  assert.deepEqual(await shown(place), ['QUEUED']);
  place.fake.setDeviceStatus(101, 'CONNECTED');
  await place.clock.advance(60_000);
  assert.deepEqual(await shown(place), ['COMPLETED']);
});

test('what is wrong with a deploy call is told in the order of the Control Room', async () => {
  const place = room({ switches: { callbackAllowList: ['https://sam.example/'] } });
  const { fake, controlRoom, passing } = place;
  const robot = fake.estate.robots.get(9_002);
  assert.ok(robot);
  fake.estate.robots.set(9_002, { ...robot, hasNoTargets: true, inputs: { in_X: 'STRING' } });
  fake.estate.users.set(7, { id: 7, username: 'u7', licenses: ['RUNTIME'], deviceId: null });
  fake.estate.users.set(8, { id: 8, username: 'u8', licenses: ['DEVELOPMENT'], deviceId: 102 });
  const callback = { url: 'https://elsewhere.example/', headers: {} };
  const in_X = { type: 'STRING', string: 'x' } as const;
  const cases = [
    [{ robotId: 1 }, 400, /does not exist/],
    [{ userId: 7 }, 400, /default device/],
    [{ userId: 8 }, 400, /license/],
    [{ robotId: 9_002 }, 400, /no input variable in_NumRepeticion/],
    [{ callback }, 400, /allowed URLs/],
    [{ robotId: 9_002, botInput: { in_X } }, 412, /No compatible targets/],
  ] as const;
  for (const [order, status, message] of cases) {
    const outcome = await passing(controlRoom.deploy(orderOf(order)));
    assert.ok(outcome.outcome === 'refused');
    assert.equal(outcome.status, status);
    assert.match(outcome.message, message);
  }
  assert.deepEqual(fake.runs, []);
});

async function calledBack(
  callbacks: Partial<CallbackSwitches>,
  answers: readonly number[] = [200],
) {
  const clock = new VirtualClock();
  const came: { readonly asked: FakeCallback; readonly at: number }[] = [];
  let ids = 0;
  const world = worldOf({ devices: 1, robots: 1, script: { pendingMs: 0, durationMs: 10_000 } });
  const fake = new FakeControlRoom(world, {
    clock,
    newId: () => {
      ids += 1;
      return `id-${ids}`;
    },
    random: () => 0,
    sendCallback: async (asked) => {
      came.push({ asked, at: clock.now() });
      return answers[came.length - 1] ?? 500;
    },
  });
  const usual = { delayMs: 0, copies: 1, comesBeforeAnswer: false, headers: null, retries: 0 };
  fake.set({ callbacks: { ...usual, ...callbacks } });
  const post = (path: string, headers: Readonly<Record<string, string>>, body: object) =>
    fake.handle({ method: 'POST', path, headers, body: JSON.stringify(body) });
  const login = await post('/v2/authentication', {}, launcherUser);
  const { token } = JSON.parse(login.type === 'answer' ? login.text : '{}');
  const begun = clock.now();
  await post(
    '/v4/automations/deploy',
    { 'x-authorization': token },
    {
      botId: 9_001,
      unattendedRequest: { runAsUserIds: [5_001] },
      callbackInfo: { url: 'https://sam.example/cb', headers: { 'X-Authorization': 'key' } },
    },
  );
  const early = came.length;
  await clock.advance(hourMs);
  return { early, times: came.map(({ at }) => at - begun), came, fake };
}

test('a callback comes once after the end, late, several times, never, or before the deploy call is answered', async () => {
  assert.deepEqual((await calledBack({})).times, [10_000]);
  assert.deepEqual((await calledBack({ delayMs: 5_000 })).times, [15_000]);
  assert.deepEqual((await calledBack({ copies: 2 }, [200, 200])).times, [10_000, 10_000]);
  assert.deepEqual((await calledBack({ copies: 0 })).times, []);
  const early = await calledBack({ comesBeforeAnswer: true });
  assert.deepEqual([early.early, early.times], [1, [0]]);
});

test('a callback may come with other headers, and again after an answer that is no 2xx', async () => {
  const other = await calledBack({ headers: { 'X-Authorization': 'wrong' } });
  assert.deepEqual(other.came[0]?.asked.headers, { 'X-Authorization': 'wrong' });
  const again = await calledBack({ retries: 2 }, [500, 401, 200]);
  assert.deepEqual(
    again.fake.sentCallbacks.map(({ status }) => status),
    [500, 401, 200],
  );
});

test('lists refuse operators and fields that they do not know', async () => {
  const { fake, controlRoom, passing } = room();
  await passing(controlRoom.users());
  const token = fake.calls.seen('users')[0]?.headers['x-authorization'] ?? '';
  for (const leaf of [
    { operator: 'like', field: 'status', value: 'x' },
    { operator: 'eq', field: 'automationName', value: 'x' },
  ]) {
    await passing(controlRoom.deploy(orderOf()));
    const body = JSON.stringify({ filter: leaf });
    const headers = { 'x-authorization': token };
    const reply = await fake.handle({ method: 'POST', path: '/v3/activity/list', headers, body });
    assert.equal(reply.type === 'answer' && reply.status, 400);
  }
});

test('a password login ends the user’s other sessions unless it asks for several; faults hold for the calls that they name', async () => {
  const credentials = {
    user: launcherUser.username,
    apiKey: null,
    password: launcherUser.password,
  };
  for (const [allowsMultipleLogin, logins] of [
    [false, 2],
    [true, 1],
  ] as const) {
    const { fake, controlRoom, passing, clock } = room(
      {},
      { credentials: { ...credentials, allowsMultipleLogin } },
    );
    await passing(controlRoom.users());
    await clock.advance(60_000);
    await fake.handle({
      method: 'POST',
      path: '/v1/authentication',
      headers: {},
      body: JSON.stringify({
        ...launcherUser,
        apiKey: undefined,
        multipleLogin: allowsMultipleLogin,
      }),
    });
    await passing(controlRoom.users());
    assert.equal(fake.calls.count('login'), logins + 1);
  }
  const faults = [{ endpoint: 'deploy', deviceId: 102, from: 2, times: 1, status: 412 } as const];
  const { controlRoom, passing } = room({ faults });
  const outcomes: string[] = [];
  for (const userId of [5_001, 5_002, 5_001, 5_002, 5_002])
    outcomes.push((await passing(controlRoom.deploy(orderOf({ userId })))).outcome);
  assert.deepEqual(outcomes, ['accepted', 'accepted', 'accepted', 'refused', 'accepted']);
});

test('calls under way at once are counted, and runs by the name that we give them', async () => {
  const { fake, controlRoom, passing } = room({ faults: [{ endpoint: 'deploy', delayMs: 5_000 }] });
  const names = ['a', 'b', 'b'];
  await passing(
    Promise.all(names.map((automationName) => controlRoom.deploy(orderOf({ automationName })))),
  );
  assert.equal(fake.calls.most('deploy'), 3);
  assert.deepEqual(
    [...fake.runsByName()],
    [
      ['a', 1],
      ['b', 2],
    ],
  );
});
