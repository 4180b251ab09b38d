/** What the variables do: parts made from a .env file, against servers that are really there. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createLog, systemClock } from 'capataz/server';
import { VirtualClock } from 'capataz/testing';
import { MailServer } from './alerts/fixtures/mail-server.ts';
import { memoryMarks } from './alerts/memory-marks.ts';
import { fakeOn, orderOf } from './control-room/fixtures/room.ts';
import { serveFake } from './fake-control-room/http-server.ts';
import { worldOf } from './fake-control-room/world.ts';
import { makeCertificate } from './fixtures/certificate.ts';
import { alertsOf, controlRoomOf, effectiveSettings, gatewayHeadersOf } from './real-parts.ts';

const directory = mkdtempSync(join(tmpdir(), 'capataz-rpa-parts-'));
after(() => rmSync(directory, { recursive: true, force: true }));

const lines: string[] = [];
const log = createLog({ to: { write: (text: string) => lines.push(text) } });
const world = { clock: systemClock, log };

function settingsOf(values: Readonly<Record<string, string | number>>) {
  const least = { AA_CR_USER: 'lanzador', AA_CR_API_KEY: 'fake-api-key' };
  const text = Object.entries({ ...least, ...values }).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(directory, '.env'), text.join(''));
  const environment = { name: 'environment', values: {} };
  return effectiveSettings({ environment, directory, envFile: null }).values;
}

test('L-53: address, user, key, time-out, pages, batches, gateway and mail are those of the .env file', async () => {
  const fake = fakeOn(new VirtualClock(), worldOf({ devices: 5, robots: 4 }));
  const server = await serveFake(fake, { clock: systemClock });
  const mail = await MailServer.start();
  try {
    const settings = settingsOf({
      AA_CR_URL: `${server.url}/`,
      AA_API_TIMEOUT_SECONDS: 1,
      AA_DEFAULT_PAGE_SIZE: 2,
      LANZADOR_CONCILIADOR_BATCH_SIZE: 3,
      LANZADOR_ROBOTS_NOMBRE_PATRON: '^P00[12]_',
      API_GATEWAY_URL: `${server.url}/gateway/token`,
      API_GATEWAY_CLIENT_ID: 'fake-client',
      API_GATEWAY_CLIENT_SECRET: 'fake-secret',
      EMAIL_SMTP_SERVER: '127.0.0.1',
      EMAIL_SMTP_PORT: mail.port,
      EMAIL_USE_TLS: 'False',
      EMAIL_FROM: 'sam@example.com',
      EMAIL_RECIPIENTS: 'one@example.com; two@example.com',
    });
    const controlRoom = controlRoomOf(settings, world);
    assert.deepEqual((await controlRoom.robots()).length, 2);
    assert.deepEqual(
      fake.calls.seen('files').map(({ body }) => JSON.parse(body).page),
      [0, 2].map((offset) => ({ offset, length: 2 })),
    );
    await controlRoom.activitiesOf(['a', 'b', 'c', 'd']);
    assert.equal(fake.calls.count('activity'), 2);
    fake.faults.add({ endpoint: 'deploy', answerDelayMs: 1 });
    const { outcome } = await controlRoom.deploy(orderOf());
    assert.equal(outcome, 'ambiguous');
    await controlRoom.close();
    assert.equal(
      (await gatewayHeadersOf(settings, world)()).Authorization,
      'Bearer gateway-token-1',
    );
    const alerts = alertsOf(settings, memoryMarks(), world);
    await alerts.raise({ kind: 'critical', key: 'test', message: 'Look.' });
    assert.deepEqual(mail.mails[0]?.to, ['one@example.com', 'two@example.com']);
    await alerts.close();
  } finally {
    await server.close();
    await mail.close();
  }
});

test('LH-23: a certificate that nobody vouches for is refused before anything is sent, unless AA_VERIFY_SSL says False', async () => {
  const certificate = await makeCertificate();
  const seen: string[] = [];
  const server = createServer(certificate, (request, response) => {
    seen.push(request.url ?? '');
    response.end(JSON.stringify({ token: 't', list: [], page: { totalFilter: 0 } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port has an address of this shape.
  const { port } = server.address() as AddressInfo;
  try {
    const url = `https://127.0.0.1:${port}`;
    const strict = controlRoomOf(settingsOf({ AA_CR_URL: url }), world);
    assert.equal((await strict.deploy(orderOf())).outcome, 'unsent');
    await strict.close();
    assert.deepEqual(seen, []);
    const lax = controlRoomOf(settingsOf({ AA_CR_URL: url, AA_VERIFY_SSL: 'False' }), world);
    assert.deepEqual(await lax.devices(), []);
    await lax.close();
    assert.match(lines.join(''), /AA_VERIFY_SSL is off/);
  } finally {
    server.closeAllConnections();
    server.close();
    certificate.remove();
  }
});

test('without a gateway callbacks have no dynamic headers', async () => {
  const settings = settingsOf({ AA_CR_URL: 'https://cr.example' });
  assert.deepEqual(await gatewayHeadersOf(settings, world)(), {});
});
