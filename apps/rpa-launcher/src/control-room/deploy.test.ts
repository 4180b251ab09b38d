/** What the launcher knows after a deploy call: nothing more than the Control Room said, and nothing less. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import type { Fault } from '../fake-control-room/world.ts';
import { orderOf, room } from './fixtures/room.ts';
import type { Transport } from './transport.ts';

const callback = {
  url: 'https://sam.example/api/callback',
  headers: {
    Authorization: 'Bearer gateway-token',
    'x-ibm-client-id': 'client',
    'X-Authorization': 'static key',
  },
};

test('L-23: a deploy call names robot, run-as user, device usage and input as v4 wants them', async () => {
  const { fake, controlRoom, passing } = room();
  const outcome = await passing(controlRoom.deploy(orderOf({ callback })));
  const [run] = fake.runs;
  assert.deepEqual(outcome, { outcome: 'accepted', deploymentId: run?.deploymentId });
  const [call] = fake.calls.seen('deploy');
  assert.deepEqual(JSON.parse(call?.body ?? ''), {
    botId: 9_001,
    automationName: 'slot-1',
    unattendedRequest: { runAsUserIds: [5_001], deviceUsageType: 'RUN_ONLY_ON_DEFAULT_DEVICE' },
    botInput: { in_NumRepeticion: { type: 'NUMBER', number: '3' } },
    callbackInfo: callback,
  });
  assert.notEqual(call?.headers['x-authorization'], undefined);
  assert.equal(call?.headers.authorization, undefined);
});

test('L-24, L-25: the headers for the callback go out with the deploy call and come back with the callback', async () => {
  const { fake, controlRoom, clock, passing } = room();
  await passing(controlRoom.deploy(orderOf({ callback })));
  await clock.advance(120_000);
  const [sent] = fake.sentCallbacks;
  assert.deepEqual(sent?.headers, callback.headers);
  assert.partialDeepStrictEqual(JSON.parse(sent?.body ?? ''), {
    deviceId: '101',
    userId: '5001',
    deploymentId: fake.runs[0]?.deploymentId,
    status: 'RUN_COMPLETED',
  });
});

test('without a callback address the call has no callbackInfo, and any 2xx with an id is a success', async () => {
  for (const deployStatus of [200, 201, 202] as const) {
    const { fake, controlRoom, passing } = room({ switches: { deployStatus } });
    assert.equal((await passing(controlRoom.deploy(orderOf()))).outcome, 'accepted');
    assert.equal('callbackInfo' in JSON.parse(fake.calls.seen('deploy')[0]?.body ?? ''), false);
  }
});

interface Case {
  readonly fault: Omit<Fault, 'endpoint'>;
  readonly outcome: Readonly<Record<string, unknown>>;
  readonly runs: number;
}

const ambiguous: readonly Case[] = [
  { fault: { reset: 'after' }, outcome: { status: null }, runs: 1 },
  { fault: { reset: 'before' }, outcome: { status: null }, runs: 0 },
  { fault: { answerDelayMs: 121_000 }, outcome: { status: null }, runs: 1 },
  { fault: { bodyDelayMs: 121_000 }, outcome: { status: null }, runs: 1 },
  {
    fault: { status: 500, body: '{"message":"boom"}' },
    outcome: { status: 500, message: 'boom' },
    runs: 0,
  },
  {
    fault: { status: 502, body: '<html><b>Bad</b> gateway</html>' },
    outcome: { status: 502, message: 'Bad gateway' },
    runs: 0,
  },
  {
    fault: { status: 503, headers: { 'retry-after': '7' } },
    outcome: { status: 503, retryAfterMs: 7_000 },
    runs: 0,
  },
  { fault: { status: 504 }, outcome: { status: 504 }, runs: 0 },
  { fault: { status: 408 }, outcome: { status: 408 }, runs: 0 },
  { fault: { garbles: true }, outcome: { status: 200 }, runs: 1 },
  { fault: { omitsDeploymentId: true }, outcome: { status: 200 }, runs: 1 },
];

for (const { fault, outcome, runs } of ambiguous) {
  test(`S-84, LH-26: ${JSON.stringify(fault)} leaves open what happened, and is sent once`, async () => {
    const { fake, controlRoom, passing } = room({ faults: [{ endpoint: 'deploy', ...fault }] });
    const known = await passing(controlRoom.deploy(orderOf()));
    assert.partialDeepStrictEqual(known, { outcome: 'ambiguous', ...outcome });
    assert.equal(fake.calls.count('deploy'), 1);
    assert.equal(fake.runs.length, runs);
  });
}

const texts: readonly (readonly [number, string, string])[] = [
  [412, 'Device is offline', 'device_unavailable'],
  [412, 'No compatible targets found in Automation', 'robot_without_targets'],
  [400, 'The following devices are not active', 'device_unavailable'],
  [400, 'Device is NOT CONNECTED', 'device_unavailable'],
  [400, 'device is offline', 'device_unavailable'],
  [400, 'None of the user(s) provided have default device(s)', 'user_without_device'],
  [400, 'No session found for user', 'runner_session'],
  [400, 'User already logged in on another machine', 'runner_session'],
  [400, 'Variable in_X not found', 'bad_request'],
  [400, '', 'bad_request'],
  [403, 'Permission denied', 'forbidden'],
  [404, 'Bot not found', 'not_found'],
  [409, 'Conflict', 'other'],
  [302, '', 'other'],
];

for (const [status, message, reason] of texts) {
  test(`LH-21: ${status} "${message}" is told as ${reason}, with its text, after one call`, async () => {
    const body = JSON.stringify({ code: 'x.y', details: null, message });
    const faults = [{ endpoint: 'deploy' as const, status, body }];
    const { fake, controlRoom, passing } = room({ faults });
    assert.deepEqual(await passing(controlRoom.deploy(orderOf())), {
      outcome: 'refused',
      status,
      code: 'x.y',
      message: message || `status ${status}`,
      reason,
      retryAfterMs: null,
    });
    assert.equal(fake.calls.count('deploy'), 1);
  });
}

test('S-84: a connection that is refused, and a login that is not reached, are known to have sent nothing', async () => {
  const { fake, controlRoom, passing } = room();
  await passing(controlRoom.devices());
  fake.isDown = true;
  assert.equal((await passing(controlRoom.deploy(orderOf()))).outcome, 'unsent');
  const other = room({ faults: [{ endpoint: 'login', reset: 'after' }] });
  assert.equal((await other.passing(other.controlRoom.deploy(orderOf()))).outcome, 'unsent');
  assert.equal(other.fake.calls.count('deploy'), 0);
});

test('S-84: 429 says how long to wait, in seconds or as a date by the Control Room’s clock, and longer waits hold back further calls', async () => {
  const { fake, clock, controlRoom, passing } = room({ switches: { clockAheadMs: 3_600_000 } });
  const asDate = (): string => new Date(clock.now() + 3_600_000 + 1_800_000).toUTCString();
  for (const retryAfter of [() => '1800', asDate]) {
    fake.faults.clear();
    fake.faults.add({ endpoint: 'deploy', status: 429, headers: { 'retry-after': retryAfter() } });
    const outcome = await passing(controlRoom.deploy(orderOf()));
    assert.partialDeepStrictEqual(outcome, { outcome: 'refused', reason: 'too_many' });
    assert.equal('retryAfterMs' in outcome && outcome.retryAfterMs, 1_800_000);
    const calls = fake.calls.count('deploy');
    const held = await passing(controlRoom.deploy(orderOf()));
    assert.partialDeepStrictEqual(held, { outcome: 'refused', status: 429, reason: 'too_many' });
    assert.equal(fake.calls.count('deploy'), calls);
    await clock.advance(1_800_000);
  }
});

test('S-84: a wait that would never end is asked for again after an hour', async () => {
  for (const retryAfter of ['9'.repeat(400), 'Fri, 31 Dec 9999 23:59:59 GMT']) {
    const { fake, clock, controlRoom, passing } = room();
    fake.faults.add({
      endpoint: 'deploy',
      times: 1,
      status: 429,
      headers: { 'retry-after': retryAfter },
    });
    assert.partialDeepStrictEqual(await passing(controlRoom.deploy(orderOf())), {
      retryAfterMs: 3_600_000,
    });
    await clock.advance(3_600_000);
    assert.equal((await passing(controlRoom.deploy(orderOf()))).outcome, 'accepted');
  }
});

test('LH-26: a huge page of brackets and zeros is read in no time, and its text can be stored', async () => {
  const body = `a\u0000b${'<'.repeat(3_000_000)}`;
  const { controlRoom, passing } = room({ faults: [{ endpoint: 'deploy', status: 400, body }] });
  const begun = systemClock.steady();
  const outcome = await passing(controlRoom.deploy(orderOf()));
  assert.ok(systemClock.steady() - begun < 2_000);
  assert.match('message' in outcome ? outcome.message : '', /^a\ufffdb<+$/);
});

test('L-63, LH-23: what a refusal repeats of our secrets is in no outcome and no log', async () => {
  const echo: Transport = {
    call: async ({ url, headers, body }) =>
      url.endsWith('/authentication')
        ? { status: 200, headers: {}, text: '{"token":"token-of-session"}' }
        : {
            status: 400,
            headers: {},
            text: JSON.stringify({ message: `${body}${headers['X-Authorization']}` }),
          },
    close: async () => {},
  };
  const { controlRoom, passing, logged } = room({}, { transport: echo, secrets: ['static-key'] });
  const headers = { Authorization: 'Bearer dynamic-token', 'X-Authorization': 'static-key' };
  const callback = { url: 'https://launcher.invalid', headers };
  const outcome = await passing(controlRoom.deploy(orderOf({ callback })));
  assert.match(JSON.stringify(outcome), /slot-1/);
  for (const secret of ['token-of-session', 'static-key', 'dynamic-token'])
    assert.ok(!`${JSON.stringify(outcome)}${logged()}`.includes(secret), secret);
  const key = room({ faults: [{ endpoint: 'login', status: 401, body: 'bad key fake-api-key' }] });
  await assert.rejects(key.passing(key.controlRoom.devices()), /bad key \*+$/);
});

test('calls begin no faster than the rate that is set', async () => {
  const { fake, clock, controlRoom, passing } = room({}, { maxRequestsPerSecond: 2 });
  const begun = clock.now();
  await passing(Promise.all([1, 2, 3, 4, 5].map(() => controlRoom.deploy(orderOf()))));
  const times = fake.calls.seen('deploy').map(({ at }) => at - begun);
  assert.deepEqual(times, [0, 500, 1_000, 1_500, 2_000]);
});
