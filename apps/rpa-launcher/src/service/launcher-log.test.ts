/** The launcher's log: its lines, its levels, its files. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { VirtualClock } from 'capataz/testing';
import { mergeSettings } from '../config/merge.ts';
import { secretsOf } from '../config/secrets.ts';
import { createLauncherLog } from './launcher-log.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-rpa-log-'));
  folders.push(folder);
  return folder;
}

const least = { AA_CR_URL: 'https://cr.example', AA_CR_USER: 'sam', AA_CR_API_KEY: 'the-api-key' };

function opened(
  values: Readonly<Record<string, string>> = {},
  now = Date.UTC(2025, 10, 21, 17, 30, 15),
) {
  const clock = new VirtualClock({ now });
  const lines: string[] = [];
  const { values: settings } = mergeSettings([{ name: '.env', values: { ...least, ...values } }]);
  const console = { write: (text: string) => lines.push(text) };
  const log = createLauncherLog({ settings, secrets: secretsOf(settings), clock, console });
  return { log, lines, clock };
}

test('L-58: a line is the time in the launcher’s zone, the level, the module and the message', () => {
  const { log, lines } = opened();
  const text = 'Robot 123 desplegado con ID: abc-def-ghi en Equipo 456 (Intento 1/2)';
  log.child({ module: 'lanzador.desplegador' }).info(text);
  assert.deepEqual(lines, [`2025-11-21 14:30:15 [INFO] lanzador.desplegador: ${text}\n`]);
  log.info('Arranque', { job: 'j1', tries: 2, nothing: undefined });
  assert.equal(lines[1], '2025-11-21 14:30:15 [INFO] lanzador: Arranque (job=j1, tries=2)\n');
});

test('L-59: the five levels of the seed, of which CRITICAL is an error that says so', () => {
  const { log, lines } = opened({ LOG_LEVEL: 'DEBUG', LOG_DIRECTORY: folderOf() });
  log.debug('d');
  log.info('i');
  log.warn('w');
  log.error('e', { error: new Error('boom') });
  log.error('c', { critical: true });
  const levelsOf = (all: readonly string[]) => all.map((line) => /\[(\w+)\]/.exec(line)?.[1]);
  assert.deepEqual(levelsOf(lines), ['INFO', 'WARNING', 'ERROR', 'CRITICAL']);
  assert.match(lines[2] ?? '', /lanzador: e: Error: boom\n {4}at /);
  const quiet = opened({ LOG_LEVEL: 'ERROR' });
  quiet.log.warn('w');
  quiet.log.error('e');
  assert.deepEqual(levelsOf(quiet.lines), ['ERROR']);
});

test('L-60: the console from INFO on, and a file a day by the launcher’s midnight, of which the newest are kept', async () => {
  const folder = join(folderOf(), 'Logs', 'SAM');
  const values = { LOG_DIRECTORY: folder, LOG_BACKUP_COUNT: '2', LOG_LEVEL: 'DEBUG' };
  // Half past eleven at night in Buenos Aires, when it is the next day in UTC.
  const { log, lines, clock } = opened(values, Date.UTC(2025, 10, 22, 2, 30));
  log.debug('first day');
  await clock.advance(29 * 60_000);
  log.info('still the first day');
  for (let day = 2; day <= 5; day += 1) {
    await clock.advance(day === 2 ? 60_000 : 24 * 3_600_000);
    log.info(`day ${day}`);
  }
  const names = [
    'sam_lanzador_app.log',
    'sam_lanzador_app.log.2025-11-23',
    'sam_lanzador_app.log.2025-11-24',
  ];
  assert.deepEqual(readdirSync(folder).sort(), names);
  assert.match(
    readFileSync(join(folder, names[0] ?? ''), 'utf8'),
    /^2025-11-25 00:00:00 .*day 5\n$/,
  );
  assert.equal(
    lines.some((line) => line.includes('first day') && line.includes('DEBUG')),
    false,
  );
});

test('L-60: a file of yesterday gets yesterday’s name at a start, today’s goes on', () => {
  const folder = folderOf();
  const path = join(folder, 'sam_lanzador_app.log');
  const yesterday = new Date(Date.UTC(2025, 10, 20, 12));
  writeFileSync(path, 'old\n');
  utimesSync(path, yesterday, yesterday);
  opened({ LOG_DIRECTORY: folder }).log.info('new');
  assert.equal(readFileSync(`${path}.2025-11-20`, 'utf8'), 'old\n');
  const today = new Date(Date.UTC(2025, 10, 21, 17));
  utimesSync(path, today, today);
  opened({ LOG_DIRECTORY: folder }).log.info('more');
  assert.match(readFileSync(path, 'utf8'), /new\n.*more\n$/);
});

test('a log file that can’t be written is told once, and stops nothing', () => {
  const folder = folderOf();
  writeFileSync(join(folder, 'taken'), '');
  const { log, lines } = opened({ LOG_DIRECTORY: join(folder, 'taken') });
  log.info('one');
  log.info('two');
  assert.equal(lines.filter((line) => line.includes('cannot be written')).length, 1);
  assert.equal(lines.length, 3);
});

test('L-58: whatever a text from outside holds, it is one line', () => {
  const { log, lines } = opened();
  log.info('Callback A\n2025-11-21 14:30:15 [CRITICAL] x', { robot: 'P1\r\n\u001b[31m' });
  assert.deepEqual(lines, [
    '2025-11-21 14:30:15 [INFO] lanzador: Callback A 2025-11-21 14:30:15 [CRITICAL] x (robot=P1 \ufffd[31m)\n',
  ]);
});

test('L-63, LH-23: secrets of the settings are blotted out, wherever they turn up', () => {
  const secrets = {
    CALLBACK_TOKEN: 'callback-secret',
    EMAIL_PASSWORD: 'mail-secret',
    API_GATEWAY_CLIENT_SECRET: 'gateway-secret',
    AA_CR_PWD: 'password-secret',
  };
  const { log, lines } = opened(secrets);
  for (const secret of [...Object.values(secrets), 'the-api-key'])
    log.error(`a ${secret}`, { header: secret, error: new Error(secret) });
  assert.equal(lines.length, 5);
  assert.doesNotMatch(lines.join(''), /-secret|the-api-key/);
});
