/** Variables by the seed's names, their sources and what is wrong with them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CapatazError } from 'capataz';
import { tablesPlace } from '../declared.ts';
import { readEnvFile } from './env-file.ts';
import { databaseSource, findSettings, mergeSettings, type SettingSource } from './merge.ts';
import { variables } from './settings.ts';
import { showSettings } from './show.ts';
import type { Variable } from './variable.ts';

const folder = mkdtempSync(join(tmpdir(), 'capataz-rpa-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const least = { AA_CR_URL: 'https://cr.example/', AA_CR_USER: 'sam', AA_CR_API_KEY: 'the-key' };

function envFile(text: string): SettingSource {
  const path = join(folder, '.env');
  writeFileSync(path, text);
  return readEnvFile(path, { isNamed: true });
}

function from(values: Readonly<Record<string, string>>) {
  return mergeSettings([{ name: '.env', values: { ...least, ...values } }]);
}

function problemsOf(values: Readonly<Record<string, string>>): readonly unknown[] {
  try {
    from(values);
    return [];
  } catch (error) {
    assert.ok(error instanceof CapatazError);
    assert.equal(error.code, 'CONFIG_INVALID');
    const problems = error.details?.problems;
    return Array.isArray(problems) ? problems : [];
  }
}

test('L-3, L-39, L-53: what is not given has the default of the seed', () => {
  const { values } = from({});
  assert.partialDeepStrictEqual(values, {
    deployIntervalMs: 15_000,
    syncIntervalMs: 3_600_000,
    reconcileIntervalMs: 900_000,
    isSyncEnabled: true,
    maxWorkers: 10,
    deployMode: 'lotes',
    deployAttempts: 2,
    deployRetryDelayMs: 5_000,
    pauseStart: '22:00',
    pauseEnd: '06:00',
    botInputRounds: 3,
    unknownToleranceMs: 30 * 86_400_000,
    unknownActiveMs: 7_200_000,
    reconcileBatchSize: 25,
    deviceFailureThreshold: 20,
    shutdownTimeoutMs: 60_000,
    zone: 'America/Argentina/Buenos_Aires',
    apiTimeoutMs: 120_000,
    verifiesTls: true,
    callbackToken: null,
    smtpServer: null,
    logFolder: null,
    logFiles: 7,
  });
});

/** Of every variable a text that is not its default, and what it becomes. */
const others: Readonly<Record<string, readonly [string, unknown]>> = {
  text: ['other', 'other'],
  secret: ['other', 'other'],
  url: ['http://other.example/base/', 'http://other.example/base/'],
  integer: ['7', 7],
  port: ['7', 7],
  boolean: ['sí', true],
  seconds: ['7', 7_000],
  minutes: ['7', 420_000],
  hours: ['7', 25_200_000],
  days: ['7', 604_800_000],
  time: ['7:30', '07:30'],
  zone: ['Europe/Madrid', 'Europe/Madrid'],
  list: ['a@x.example; b@x.example,', ['a@x.example', 'b@x.example']],
  pattern: ['^X', /^X/],
};

for (const [key, variable] of Object.entries<Variable>(variables)) {
  const names = [variable.name, ...(variable.otherNames ?? [])];
  test(`L-53: ${names.join(', ')} is read from the .env file, in this order of names`, () => {
    const choice = variable.choices?.at(-1) ?? '';
    const [text, value] = others[variable.type] ?? [choice, choice];
    // What a variable can't have alone.
    const beside = { AA_URL_CALLBACK: '', CALLBACK_TOKEN: 'k', API_GATEWAY_CLIENT_ID: 'i' };
    const rest = {
      ...beside,
      API_GATEWAY_CLIENT_SECRET: 's',
      EMAIL_FROM: 'f',
      EMAIL_RECIPIENTS: 't',
    };
    const path = key === 'callbackPath' ? ['/other', '/other'] : [text, value];
    names.forEach((name, index) => {
      const others = Object.fromEntries(names.slice(index + 1).map((later) => [later, 'wrong']));
      const given = { ...least, ...rest, EMAIL_PASSWORD: 'p', ...others, [name]: path[0] };
      const { values } = mergeSettings([{ name: '.env', values: given as Record<string, string> }]);
      assert.deepEqual(new Map<string, unknown>(Object.entries(values)).get(key), path[1]);
    });
  });
}

test('L-53: the database goes before the environment, that before the file, and each value says where it is from', () => {
  const file = envFile(
    '\uFEFF# SAM\r\nLANZADOR_MAX_WORKERS=3\r\nLANZADOR_WORKERS_MAX=4\r\nLANZADOR_PAUSA_INICIO_HHMM="21:00"\r\nLANZADOR_CICLO_INTERVALO_SEG=9\r\n',
  );
  const environment = { name: 'environment', values: { ...least, LANZADOR_MAX_WORKERS: '5' } };
  const database = databaseSource({ LANZADOR_INTERVALO_LANZAMIENTO_SEG: '20' });
  const effective = mergeSettings([database, environment, file]);
  const { maxWorkers, pauseStart, deployIntervalMs } = effective.values;
  assert.deepEqual([maxWorkers, pauseStart, deployIntervalMs], [5, '21:00', 20_000]);
  const shown = new Map(showSettings(effective).map((row) => [row.variable, row]));
  assert.partialDeepStrictEqual(shown.get('LANZADOR_MAX_WORKERS'), {
    value: '5',
    source: 'environment',
  });
  assert.equal(shown.get('LANZADOR_INTERVALO_LANZAMIENTO_SEG')?.source, 'ConfiguracionSistema');
  assert.equal(shown.get('LANZADOR_PAUSA_INICIO_HHMM')?.source, join(folder, '.env'));
  assert.equal(shown.get('LANZADOR_PAUSA_FIN_HHMM')?.source, 'default');
  const alias = new Map(
    showSettings(mergeSettings([environment, file])).map((row) => [row.variable, row]),
  );
  const source = alias.get('LANZADOR_INTERVALO_LANZAMIENTO_SEG')?.source;
  assert.equal(source, `${join(folder, '.env')} (LANZADOR_CICLO_INTERVALO_SEG)`);
});

test('LH-23: secrets are masked where settings are shown, are in no error, and are not read from the database', () => {
  const values = { CALLBACK_TOKEN: 'very-secret', EMAIL_PASSWORD: 'very-secret' };
  const shown = JSON.stringify(showSettings(from(values)));
  assert.equal(shown.includes('very-secret') || shown.includes('the-key'), false);
  assert.match(shown, /\*{8}/);
  const { values: read, warnings } = mergeSettings([
    databaseSource({ CALLBACK_TOKEN: 'very-secret' }),
    { name: '.env', values: least },
  ]);
  assert.equal(read.callbackToken, null);
  assert.deepEqual(warnings, [
    'ConfiguracionSistema: CALLBACK_TOKEN is a secret and is not read from there',
  ]);
});

for (const name of [
  'LANZADOR_INTERVALO_LANZAMIENTO_SEG',
  'LANZADOR_INTERVALO_SINCRONIZACION_SEG',
  'LANZADOR_INTERVALO_CONCILIACION_SEG',
]) {
  test(`L-54: ${name} that is empty or no number is an error that names file, variable and value`, () => {
    const path = join(folder, '.env');
    const said = (text: string): unknown => {
      try {
        return mergeSettings([
          envFile(`${name}=${text}\n`),
          { name: 'environment', values: least },
        ]);
      } catch (error) {
        return error instanceof CapatazError ? error.message : error;
      }
    };
    assert.equal(said(''), `${path}: ${name}: is empty`);
    assert.match(
      String(said('soon')),
      new RegExp(`: ${name}: "soon" must be a number of seconds from 1 to \\d+$`),
    );
    assert.match(String(said('0')), /"0" must be/);
    assert.match(String(said('-5')), /"-5" must be/);
  });
}

test('L-54: every problem is told at once, and what must be there is asked for', () => {
  const nothing = (): unknown => mergeSettings([]);
  assert.throws(nothing, (error) => {
    assert.ok(error instanceof CapatazError);
    const [url, user, key] = error.message.split('\n');
    assert.match(url ?? '', /^AA_CR_URL: is missing/);
    assert.match(user ?? '', /^AA_CR_USER: is missing/);
    assert.match(key ?? '', /^AA_CR_API_KEY: is missing, and so is AA_CR_PWD/);
    assert.match(String(error.details?.hint), /capataz-rpa variables/);
    return true;
  });
  assert.deepEqual(problemsOf({ LANZADOR_MAX_WORKERS: 'ten', LANZADOR_HABILITAR_SYNC: 'maybe' }), [
    '.env: LANZADOR_HABILITAR_SYNC: "maybe" must be True or False',
    '.env: LANZADOR_MAX_WORKERS: "ten" must be a whole number from 1 to 1000',
  ]);
  assert.deepEqual(problemsOf({ AA_CR_API_KEY: '' }), [
    'AA_CR_API_KEY: is missing, and so is AA_CR_PWD',
  ]);
});

test('LH-6: a pause with a wrong time, or with one time for both ends, stops the start; an empty end is no pause', () => {
  const start = 'LANZADOR_PAUSA_INICIO_HHMM';
  const end = 'LANZADOR_PAUSA_FIN_HHMM';
  assert.deepEqual(problemsOf({ [start]: '25:00' }), [
    `.env: ${start}: "25:00" must be a time of day, HH:MM`,
  ]);
  assert.match(
    String(problemsOf({ [start]: '6:00', [end]: '06:00' })),
    /"06:00" is also the start/,
  );
  assert.deepEqual(problemsOf({ [start]: '6 PM' }).length, 1);
  const { pauseStart, pauseEnd } = from({ [end]: '' }).values;
  assert.deepEqual([pauseStart, pauseEnd], ['22:00', null]);
});

test('a time zone that there is none of stops the start', () => {
  assert.match(
    String(problemsOf({ LANZADOR_ZONA_HORARIA: 'Argentina' })),
    /"Argentina" must be a time zone/,
  );
});

test('S-86: callbacks that would bring no key are not asked for', () => {
  assert.match(
    String(problemsOf({ AA_URL_CALLBACK: 'https://sam.example/cb' })),
    /^CALLBACK_TOKEN: is missing/,
  );
});

test('what belongs together is asked for together', () => {
  assert.deepEqual(problemsOf({ API_GATEWAY_URL: 'https://gw.example' }).length, 2);
  assert.deepEqual(problemsOf({ EMAIL_SMTP_SERVER: 'smtp.example', EMAIL_USER: 'u' }).length, 3);
});

test('names that nobody knows and names without effect are warned of, those of other programs are not', () => {
  const { warnings } = from({ LANZADOR_MAX_WORKER: '3', SQL_SAM_HOST: 'h', BALANCEADOR_X: '1' });
  assert.deepEqual(warnings, [
    '.env: LANZADOR_MAX_WORKER is no variable',
    '.env: SQL_SAM_HOST is not used: where the tables lie is said by the settings of Capataz',
  ]);
});

test('a .env file that was named must be there; the usual one need not', () => {
  const path = join(folder, 'none.env');
  assert.throws(() => readEnvFile(path, { isNamed: true }), /none\.env does not exist/);
  assert.deepEqual(readEnvFile(path, { isNamed: false }).values, {});
});

test('a line of the .env file that sets nothing is told with its number, and nothing of a secret', () => {
  const file = envFile(
    'AA_CR_USER=sam\nAA_CR_PWD hunter2\n\n# fine\nexport LOG_LEVEL=INFO\nEMAIL_FROM="a\nb c"\nhello\n',
  );
  assert.deepEqual(file.problems, [
    `${file.name} line 2: "AA_CR_PWD…" is no NAME=value`,
    `${file.name} line 8: "hello…" is no NAME=value`,
  ]);
  assert.throws(() => mergeSettings([file]), /line 2: .*\n.*line 8: .*\nAA_CR_URL: is missing/);
});

test('settings that are wrong are shown as they were written, beside what is wrong with them', () => {
  const found = findSettings([{ name: '.env', values: { ...least, LANZADOR_MAX_WORKERS: 'ten' } }]);
  assert.equal(found.problems.length, 1);
  const row = showSettings(found).find(({ variable }) => variable === 'LANZADOR_MAX_WORKERS');
  assert.partialDeepStrictEqual(row, { value: 'ten', source: '.env' });
});

test('tables that are neither PostgreSQL nor in the data folder are refused rather than made anew', () => {
  const place = (databaseUrl: string | null) => tablesPlace({ dataDir: 'data' }, { databaseUrl });
  assert.equal(place(null), join('data', 'rpa.sqlite'));
  assert.match(place('postgres://localhost/sam'), /^postgres:/);
  for (const wrong of ['sam', 'mysql://localhost/sam', 'postgres:/localhost/sam'])
    assert.throws(() => place(wrong), /database_url: must begin with postgres:\/\//);
});
