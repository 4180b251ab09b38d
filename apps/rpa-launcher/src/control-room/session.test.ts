/** Logins, and tokens that are spent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launcherUser, worldOf } from '../fake-control-room/world.ts';
import { ControlRoomError } from './contract.ts';
import { orderOf, room, userOf } from './fixtures/room.ts';

const apiKey = { ...userOf(), apiKey: launcherUser.apiKey };
const password = { ...userOf(), password: launcherUser.password };

test('the API key goes before the password, which says whether other sessions stay', async () => {
  const both = { ...password, apiKey: launcherUser.apiKey };
  const { username, ...secrets } = launcherUser;
  for (const [credentials, body] of [
    [both, { username, apiKey: secrets.apiKey }],
    [password, { username, password: secrets.password, multipleLogin: false }],
    [
      { ...password, allowsMultipleLogin: true },
      { username, password: secrets.password, multipleLogin: true },
    ],
  ] as const) {
    const { fake, controlRoom, passing } = room({}, { credentials });
    await passing(controlRoom.devices());
    assert.deepEqual(JSON.parse(fake.calls.seen('login')[0]?.body ?? ''), body);
  }
});

test('LH-15: calls that start together share one login, and a token is replaced before its end', async () => {
  const { fake, clock, controlRoom, passing } = room();
  await passing(
    Promise.all([controlRoom.devices(), controlRoom.users(), controlRoom.deploy(orderOf())]),
  );
  assert.equal(fake.calls.count('login'), 1);
  await clock.advance(1_130_000);
  await passing(controlRoom.devices());
  assert.equal(fake.calls.count('login'), 1);
  await clock.advance(10_000);
  await passing(Promise.all([controlRoom.devices(), controlRoom.users()]));
  assert.equal(fake.calls.count('login'), 2);
  assert.deepEqual(statusesOf(fake, 'devices'), [200, 200, 200]);
});

test('a token that lives shorter than it is used for is replaced after 95 % of its life', async () => {
  const { fake, clock, controlRoom, passing } = room({ switches: { tokenLifeMs: 60_000 } });
  await passing(controlRoom.devices());
  await clock.advance(57_000);
  await passing(controlRoom.devices());
  assert.deepEqual([fake.calls.count('login'), statusesOf(fake, 'devices')], [2, [200, 200]]);
});

for (const spentTokenStatus of [401, 400] as const) {
  test(`LH-15: a token spent before its time, told as ${spentTokenStatus}, costs one login for all and one more call each`, async () => {
    const { fake, clock, controlRoom, passing } = room({ switches: { spentTokenStatus } });
    await passing(controlRoom.devices());
    await clock.advance(60_000);
    fake.endSessions();
    const orders = [1, 2, 3].map((n) =>
      orderOf({ userId: 5_000 + n, automationName: `slot-${n}` }),
    );
    const outcomes = await passing(Promise.all(orders.map((order) => controlRoom.deploy(order))));
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      ['accepted', 'accepted', 'accepted'],
    );
    assert.deepEqual([fake.calls.count('login'), fake.calls.count('deploy')], [2, 6]);
    assert.equal(fake.runs.length, 3);
  });
}

test('LH-15: a 400 about a token that a new login does not mend is no fault of the robot', async () => {
  for (const message of ['Access token is invalid', 'The session has expired']) {
    const body = JSON.stringify({ message });
    const { fake, clock, controlRoom, passing } = room();
    await passing(controlRoom.devices());
    await clock.advance(60_000);
    fake.faults.add({ endpoint: 'deploy', status: 400, body });
    const outcome = await passing(controlRoom.deploy(orderOf()));
    assert.deepEqual(outcome, { outcome: 'unauthorized', message: `400 ${message}` });
    assert.equal(fake.calls.count('deploy'), 2);
  }
});

test('LH-15: a token refused right after its login is not replaced: two launchers of one user would log in in turns', async () => {
  const { fake, controlRoom, passing } = room({ faults: [{ endpoint: 'deploy', status: 401 }] });
  for (let n = 0; n < 5; n += 1) {
    const { outcome } = await passing(controlRoom.deploy(orderOf()));
    assert.equal(outcome, 'unauthorized');
  }
  assert.equal(fake.calls.count('login'), 1);
});

test('LH-15: refused credentials are told as such, nothing is sent, and logins pause for longer each time', async () => {
  const { users, ...world } = worldOf({ devices: 1, robots: 1 });
  const locked = users.map((user) => (user.id === 1 ? { ...user, isDisabled: true } : user));
  const { fake, clock, controlRoom, passing } = room(
    { ...world, users: locked },
    { credentials: apiKey },
  );
  const { outcome } = await passing(controlRoom.deploy(orderOf()));
  assert.equal(outcome, 'unauthorized');
  await assert.rejects(passing(controlRoom.devices()), (error) => {
    assert.ok(error instanceof ControlRoomError);
    return error.kind === 'credentials';
  });
  assert.equal(fake.calls.count('login'), 1);
  await clock.advance(60_000);
  await passing(controlRoom.deploy(orderOf()));
  await clock.advance(60_000);
  await passing(controlRoom.deploy(orderOf()));
  assert.equal(fake.calls.count('login'), 2);
  fake.estate.users.set(1, { ...launcherUser, id: 1, licenses: [], deviceId: null });
  await clock.advance(60_000);
  assert.notEqual((await passing(controlRoom.deploy(orderOf()))).outcome, 'unauthorized');
  assert.deepEqual([fake.calls.count('login'), fake.calls.count('deploy')], [3, 1]);
});

test('a Control Room that is down or wrong at login is told apart from refused credentials', async () => {
  for (const [status, kind] of [
    [503, 'unavailable'],
    [404, 'refused'],
  ] as const) {
    const { controlRoom, passing } = room({ faults: [{ endpoint: 'login', status }] });
    await assert.rejects(passing(controlRoom.users()), { name: 'ControlRoomError', kind, status });
  }
});

test('L-55: closing logs out', async () => {
  const { fake, controlRoom, passing } = room();
  await passing(controlRoom.devices());
  await passing(controlRoom.close());
  assert.deepEqual(statusesOf(fake, 'logout'), [204]);
});

test('L-63, LH-23: neither token nor key nor password nor callback headers are logged', async () => {
  const credentials = { ...password, password: 'fake-password' };
  const { fake, clock, controlRoom, passing, logged } = room({}, { credentials });
  const headers = { 'X-Authorization': 'very-secret-key' };
  const callback = { url: 'https://sam.example/cb', headers };
  await passing(controlRoom.deploy(orderOf({ callback })));
  await clock.advance(60_000);
  fake.endSessions();
  await passing(controlRoom.deploy(orderOf({ callback })));
  const tokens = fake.calls.seen('deploy').map((call) => call.headers['x-authorization'] ?? '');
  assert.equal(new Set(tokens).size, 2);
  assert.match(logged(), /did not take the token/);
  for (const secret of [...tokens, 'fake-password', 'very-secret-key'])
    assert.equal(logged().includes(secret), false);
});

function statusesOf({ calls }: ReturnType<typeof room>['fake'], endpoint: 'devices' | 'logout') {
  return calls.seen(endpoint).map(({ status }) => status);
}
