/** Which alerts become mails, against a real mail server. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { createLog } from 'capataz/server';
import { VirtualClock } from 'capataz/testing';
import { createAlerts } from './alerts.ts';
import type { Alert, AlertKind } from './contract.ts';
import { MailServer } from './fixtures/mail-server.ts';
import { createMailer } from './mailer.ts';
import { memoryMarks } from './memory-marks.ts';
import { policiesOf } from './policies.ts';

const server = await MailServer.start();
after(() => server.close());
beforeEach(() => {
  server.mails.length = 0;
  server.isRefusing = false;
});

const policies = policiesOf({ deviceFailureThreshold: 20, alertRepeatMs: 1_800_000 });
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A launcher's alerts; with the marks of another one they are those of its next process. */
function desk({ clock = new VirtualClock(), marks = memoryMarks(), maxMailsPerHour = 100 } = {}) {
  const lines: string[] = [];
  const log = createLog({ to: { write: (text: string) => lines.push(text) }, clock });
  const mailer = createMailer(
    {
      smtpServer: '127.0.0.1',
      smtpPort: server.port,
      smtpUsesTls: false,
      mailFrom: 'sam@example.com',
      mailTo: ['one@example.com', 'two@example.com'],
      smtpUser: 'sam',
      smtpPassword: 'right',
    },
    log,
  );
  const zone = 'America/Argentina/Buenos_Aires';
  const alerts = createAlerts({ policies, marks, mailer, clock, log, zone, maxMailsPerHour });
  const raise = (kind: AlertKind, key: string, more: Partial<Alert> = {}) =>
    alerts.raise({ kind, key, message: 'It went wrong.', ...more });
  return { alerts, raise, clock, marks, logged: () => lines.join('') };
}

test('L-33, L-34, S-88: the first 400 of a device is mailed, another device has its own mail, a success or a day begins anew', async () => {
  const { alerts, raise, clock } = desk();
  assert.equal(await raise('bad_request', 'PC-1'), 'sent');
  assert.equal(await raise('bad_request', 'PC-1'), 'held');
  assert.equal(await raise('bad_request', 'PC-2'), 'sent');
  await alerts.clear('bad_request', 'PC-1');
  assert.equal(await raise('bad_request', 'PC-1'), 'sent');
  await clock.advance(24 * hourMs - 1);
  assert.equal(await raise('bad_request', 'PC-1'), 'held');
  await clock.advance(1);
  assert.equal(await raise('bad_request', 'PC-1'), 'sent');
  const subject = '[ALTO EQUIPO PERMANENTE] Deployment refused with 400: PC-';
  assert.deepEqual(
    server.subjects,
    [1, 2, 1, 1].map((n) => `${subject}${n}`),
  );
  await alerts.close();
});

test('L-37: a device that refuses with 412 is mailed at the threshold, not before, and again while it lasts', async () => {
  const { alerts, raise, clock } = desk();
  for (let cycle = 1; cycle <= 40; cycle += 1) {
    assert.equal(await raise('device_unavailable', 'PC-1'), cycle === 20 ? 'sent' : 'held');
    await clock.advance(15_000);
  }
  assert.deepEqual(server.subjects, [
    '[ALTO EQUIPO UMBRAL] Device refuses deployments with 412: PC-1',
  ]);
  await clock.advance(30 * minuteMs);
  assert.equal(await raise('device_unavailable', 'PC-1'), 'sent');
  await alerts.close();
});

test('L-38: one success resets: the threshold must be reached again, and a mail told that it was over', async () => {
  const { alerts, raise } = desk();
  const cycles = async (count: number) => {
    for (let cycle = 0; cycle < count; cycle += 1) await raise('device_unavailable', 'PC-1');
  };
  await cycles(19);
  await alerts.clear('device_unavailable', 'PC-1');
  await cycles(19);
  assert.deepEqual(server.subjects, []);
  await cycles(1);
  await alerts.clear('device_unavailable', 'PC-1');
  await cycles(19);
  assert.deepEqual(server.subjects, [
    '[ALTO EQUIPO UMBRAL] Device refuses deployments with 412: PC-1',
    '[ALTO EQUIPO RECUPERACIÓN] Device refuses deployments with 412: PC-1',
  ]);
  await alerts.close();
});

test('LH-19: what was mailed, and how often something was seen, outlives a restart', async () => {
  const first = desk();
  await first.raise('bad_request', 'PC-1');
  for (let cycle = 0; cycle < 19; cycle += 1) await first.raise('device_unavailable', 'PC-2');
  await first.alerts.close();
  const { alerts, raise } = desk(first);
  assert.equal(await raise('bad_request', 'PC-1'), 'held');
  assert.equal(await raise('device_unavailable', 'PC-2'), 'sent');
  await alerts.close();
});

test('LH-19, LH-20: a launcher whose turn comes goes by what the one before it has told and cleared', async () => {
  const first = desk();
  const second = desk(first);
  await second.alerts.current();
  assert.equal(await first.raise('bad_request', 'PC-1'), 'sent');
  second.alerts.reread();
  assert.equal(await second.raise('bad_request', 'PC-1'), 'held');
  await second.alerts.clear('bad_request', 'PC-1');
  first.alerts.reread();
  assert.equal(await first.raise('bad_request', 'PC-1'), 'sent');
  await Promise.all([first.alerts.close(), second.alerts.close()]);
});

test('LH-19: marks that nobody clears are forgotten after a week', async () => {
  const first = desk();
  await first.raise('run_late', 'job-1');
  await first.alerts.close();
  await first.clock.advance(8 * 24 * hourMs);
  const { alerts } = desk(first);
  assert.deepEqual(await alerts.current(), []);
  assert.deepEqual(await first.marks.all(), []);
  await alerts.close();
});

test('a mail that could not be sent marks nothing as told, and is sent a minute later, also by the next process', async () => {
  const first = desk();
  server.isRefusing = true;
  assert.equal(await first.raise('bad_request', 'PC-1'), 'waiting');
  assert.equal((await first.alerts.current())[0]?.mailedAt, null);
  server.isRefusing = false;
  await first.alerts.close();
  assert.deepEqual(server.subjects, []);
  const { alerts, clock, marks } = desk(first);
  await clock.advance(0);
  await alerts.close();
  assert.equal(server.subjects.length, 1);
  assert.notEqual((await marks.all())[0]?.mailedAt, null);
});

test('a mail that could not be sent does not count for the cap', async () => {
  const { alerts, raise, clock } = desk({ maxMailsPerHour: 1 });
  server.isRefusing = true;
  assert.equal(await raise('bad_request', 'PC-1'), 'waiting');
  server.isRefusing = false;
  await clock.advance(minuteMs);
  await alerts.close();
  assert.deepEqual(server.subjects.length, 1);
  assert.match(server.subjects[0] ?? '', /PC-1$/);
});

test('alerts beyond the cap of an hour wait for the next one; one mail says so', async () => {
  const { alerts, raise, clock } = desk({ maxMailsPerHour: 3 });
  for (let n = 1; n <= 5; n += 1)
    assert.equal(await raise('bad_request', `PC-${n}`), n <= 3 ? 'sent' : 'waiting');
  assert.equal(server.subjects.length, 4);
  assert.equal(server.subjects[3], '[ALTO SISTEMA UMBRAL] More alerts wait');
  await clock.advance(hourMs);
  await alerts.close();
  assert.deepEqual(
    server.subjects.slice(4).map((subject) => subject.slice(-4)),
    ['PC-4', 'PC-5'],
  );
});

test('L-62: a critical error goes to all recipients, with its table, what to do and nothing that the mail could run', async () => {
  const { alerts, raise } = desk();
  const facts = { Robot: '<script>alert(1)</script>', Status: 500 };
  await raise('cycle_failed', 'deploy', { message: 'boom & <b>bang</b>', facts });
  const [mail] = server.mails;
  assert.deepEqual(mail?.to, ['one@example.com', 'two@example.com']);
  assert.deepEqual([mail?.from, mail?.user], ['sam@example.com', 'sam']);
  assert.equal(mail?.subject, '[CRÍTICO SISTEMA TRANSITORIO] A cycle failed: deploy');
  const raw = mail?.raw.replaceAll('=\r\n', '') ?? '';
  assert.match(raw, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  assert.match(raw, /boom &amp; &lt;b&gt;bang/);
  assert.match(raw, /1\. Look at the log/);
  assert.match(raw, /First seen: 2025-12-31 21:00:00/);
  await alerts.close();
});

test('an identical critical alert is held for half an hour, and a subject stays one line', async () => {
  const { alerts, raise, clock } = desk();
  await raise('critical', 'a\r\nBcc: x@example.com');
  await clock.advance(29 * minuteMs);
  assert.equal(await raise('critical', 'a\r\nBcc: x@example.com'), 'held');
  await clock.advance(minuteMs);
  assert.equal(await raise('critical', 'a\r\nBcc: x@example.com'), 'sent');
  assert.equal(
    server.mails[0]?.subject,
    '[CRÍTICO SISTEMA TRANSITORIO] Critical error: a Bcc: x@example.com',
  );
  assert.deepEqual(server.mails[0]?.to.length, 2);
  await alerts.close();
});

test('alerts raised at once send one mail, and an alert that is over before its mail went sends none', async () => {
  const { alerts, raise } = desk();
  await Promise.all([1, 2, 3].map(() => raise('bad_request', 'PC-1')));
  assert.equal(server.mails.length, 1);
  server.isRefusing = true;
  await raise('robot_without_targets', '9001');
  server.isRefusing = false;
  await alerts.clear('robot_without_targets', '9001');
  await alerts.close();
  assert.equal(server.mails.length, 1);
});

test('marks that can’t be read or stored harm nobody: alerts go out all the same', async () => {
  const broken = { all: failing, put: failing, remove: failing };
  const { alerts, raise, logged } = desk({ marks: broken });
  assert.equal(await raise('bad_request', 'PC-1'), 'sent');
  assert.equal(await raise('bad_request', 'PC-1'), 'held');
  await alerts.clear('bad_request', 'PC-1');
  assert.match(logged(), /may be alerted again/);
  assert.match(logged(), /could not be stored/);
  await alerts.close();
});

async function failing(): Promise<never> {
  throw new Error('no database');
}
