/** The connection to the mail server. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createLog } from 'capataz/server';
import { VirtualClock } from 'capataz/testing';
import { makeCertificate } from '../fixtures/certificate.ts';
import { createAlerts } from './alerts.ts';
import { MailServer } from './fixtures/mail-server.ts';
import { createMailer, type MailSettings } from './mailer.ts';
import { memoryMarks } from './memory-marks.ts';
import { policiesOf } from './policies.ts';

const run = promisify(execFile);
const mail = { subject: 's', text: 't', html: '<p>t</p>' };

function settings(port: number, more: Partial<MailSettings> = {}): MailSettings {
  return {
    smtpServer: '127.0.0.1',
    smtpPort: port,
    smtpUsesTls: true,
    mailFrom: 'sam@example.com',
    mailTo: ['one@example.com'],
    smtpUser: null,
    smtpPassword: null,
    ...more,
  };
}

function listening() {
  const lines: string[] = [];
  const log = createLog({ to: { write: (text: string) => lines.push(text) } });
  return { log, lines };
}

test('L-61: without a mail server alerts go to the log', async () => {
  const { log, lines } = listening();
  const mailer = createMailer(settings(25, { smtpServer: null }), log);
  assert.equal(mailer, null);
  const policies = policiesOf({ deviceFailureThreshold: 20, alertRepeatMs: 1_800_000 });
  const clock = new VirtualClock();
  const zone = 'UTC';
  const marks = memoryMarks();
  const alerts = createAlerts({ policies, marks, mailer, clock, log, zone, maxMailsPerHour: 1 });
  for (const key of ['PC-1', 'PC-2', 'PC-1'])
    await alerts.raise({ kind: 'bad_request', key, message: 'No such robot.' });
  const told = lines.filter((line) => line.includes('refused with 400: No such robot.'));
  assert.deepEqual(
    told.map((line) => JSON.parse(line).key),
    ['PC-1', 'PC-2'],
  );
  await alerts.close();
});

test('LH-23: with TLS nothing is sent to a server that has none, or whose certificate nobody vouches for', async () => {
  const { log } = listening();
  const plain = await MailServer.start({ hideSTARTTLS: true });
  const selfSigned = await MailServer.start();
  try {
    for (const server of [plain, selfSigned]) {
      const mailer = createMailer(settings(server.port), log);
      await assert.rejects(mailer?.send(mail) ?? Promise.resolve());
      mailer?.close();
      assert.deepEqual(server.mails, []);
    }
    const open = createMailer(settings(plain.port, { smtpUsesTls: false }), log);
    await open?.send(mail);
    assert.equal(plain.mails[0]?.isEncrypted, false);
    open?.close();
  } finally {
    await plain.close();
    await selfSigned.close();
  }
});

test('with a certificate of a known authority mails are encrypted; a wrong password sends none', async () => {
  const certificate = await makeCertificate();
  const server = await MailServer.start({ key: certificate.key, cert: certificate.cert });
  try {
    const program = fileURLToPath(new URL('./fixtures/send-mail.ts', import.meta.url));
    const send = async (PASSWORD: string): Promise<string> => {
      const env = { NODE_EXTRA_CA_CERTS: certificate.path, PORT: String(server.port), PASSWORD };
      const args = ['--conditions=capataz-source', program];
      return (await run(process.execPath, args, { env })).stdout;
    };
    assert.equal(await send('right'), 'sent\n');
    assert.equal(await send('wrong'), 'EAUTH\n');
    const seen = server.mails.map(({ isEncrypted, user }) => [isEncrypted, user]);
    assert.deepEqual(seen, [[true, 'sam']]);
  } finally {
    await server.close();
    certificate.remove();
  }
});
