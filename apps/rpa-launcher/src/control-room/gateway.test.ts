/** The API gateway's token in the headers of callbacks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from 'capataz/server';
import { VirtualClock } from 'capataz/testing';
import { inProcessTransport, inProcessUrl } from '../fake-control-room/in-process.ts';
import { worldOf } from '../fake-control-room/world.ts';
import { fakeOn } from './fixtures/room.ts';
import { createApiGateway } from './gateway.ts';

function gateway(clientSecret = 'fake-secret') {
  const clock = new VirtualClock();
  const fake = fakeOn(clock, worldOf({ devices: 1, robots: 1 }));
  const lines: string[] = [];
  const log = createLog({ to: { write: (text: string) => lines.push(text) }, clock });
  const { headers } = createApiGateway({
    url: `${inProcessUrl}/gateway/token`,
    clientId: 'fake-client',
    clientSecret,
    grantType: 'client_credentials',
    scope: 'callbacks',
    timeoutMs: 30_000,
    transport: inProcessTransport(fake, clock),
    clock,
    log,
  });
  return { clock, fake, headers, logged: () => lines.join('') };
}

const first = { Authorization: 'Bearer gateway-token-1', 'x-ibm-client-id': 'fake-client' };

test('L-24: the token is fetched once for all, kept, and replaced at half its life', async () => {
  const { clock, fake, headers } = gateway();
  const [one, two] = await Promise.all([headers(), headers()]);
  assert.deepEqual([one, two], [first, first]);
  const form = new URLSearchParams(fake.calls.seen('gateway')[0]?.body);
  assert.deepEqual(Object.fromEntries(form), {
    grant_type: 'client_credentials',
    client_id: 'fake-client',
    client_secret: 'fake-secret',
    scope: 'callbacks',
  });
  await clock.advance(1_799_000);
  assert.deepEqual(await headers(), first);
  await clock.advance(1_000);
  assert.deepEqual(await headers(), { ...first, Authorization: 'Bearer gateway-token-2' });
  assert.equal(fake.calls.count('gateway'), 2);
});

test('L-24: without a token deployments go on, with a warning that tells no secret', async () => {
  const { headers, logged } = gateway('wrong-secret');
  assert.deepEqual(await headers(), {});
  assert.match(logged(), /"level":"warn".*gives no token/);
  assert.equal(logged().includes('wrong-secret'), false);
  const down = gateway();
  down.fake.isDown = true;
  assert.deepEqual(await down.headers(), {});
  down.fake.isDown = false;
  assert.deepEqual(await down.headers(), first);
});
