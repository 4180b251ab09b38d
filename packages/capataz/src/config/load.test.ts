import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { CapatazError } from '../protocol/errors.ts';
import { type ConfigSources, type EffectiveConfig, loadConfig, requireSettings } from './load.ts';
import { environmentName, fileKey, flagName } from './setting.ts';
import { settingNames, settingOf } from './settings.ts';
import { showConfig } from './show.ts';

const folders: string[] = [];

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folderWith(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-config-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function load(more: Partial<ConfigSources> = {}): EffectiveConfig {
  return loadConfig({ flags: {}, environment: {}, directory: folderWith(), ...more });
}

function problemsOf(more: Partial<ConfigSources>): string[] {
  let lines: string[] = [];
  assert.throws(
    () => load(more),
    (error: CapatazError) => {
      assert.equal(error.code, 'CONFIG_INVALID');
      lines = error.message.split('\n');
      return true;
    },
  );
  return lines;
}

test('S-52: without anything given the server is on loopback, port 8080, and open', () => {
  const directory = folderWith();
  const { values, sources } = load({ directory });
  assert.equal(values.host, '127.0.0.1');
  assert.equal(values.port, 8080);
  assert.equal(values.dataDir, join(directory, '.capataz'));
  assert.equal(values.clients, null);
  assert.equal(values.workers, null);
  assert.equal(values.workerHeartbeat, 3_000);
  assert.equal(sources.port, 'default');
});

test('flags win over the environment, that over the file, that over the default', () => {
  const directory = folderWith({ 'capataz.toml': 'port = 1\nhost = "file"\ndrain = "3s"\n' });
  const environment = { CAPATAZ_PORT: '2', CAPATAZ_HOST: 'environment' };
  const { values, sources, file } = load({ directory, environment, flags: { port: '3' } });
  assert.deepEqual([values.port, values.host, values.drain], [3, 'environment', 3_000]);
  assert.equal(sources.port, 'flag --port');
  assert.equal(sources.host, 'environment CAPATAZ_HOST');
  assert.equal(sources.drain, `${file}: drain`);
  assert.equal(file, join(directory, 'capataz.toml'));
});

test("S-51: the seeds' names are accepted, shown as aliases, and give way to ours", () => {
  const directory = folderWith();
  mkdirSync(join(directory, 'flows'));
  const environment = {
    API_HOST: 'localhost',
    API_PORT: '9000',
    BLUEPRINTS_DIR: 'flows',
    GLOBAL_WORKER_TOKEN: 'tok',
    LOG_LEVEL: 'WARNING',
    TZ: 'America/Bogota',
    WORKER_POLL_TIMEOUT_SECONDS: '12.5',
    MAX_TRANSITIONS_PER_JOB: '7',
    CAPATAZ_MAX_TRANSITIONS: '8',
  };
  const effective = load({ directory, environment });
  const { values, sources } = effective;
  assert.equal(values.host, 'localhost');
  assert.equal(values.port, 9000);
  assert.equal(values.blueprints, join(directory, 'flows'));
  assert.equal(values.commonWorkerToken, 'tok');
  assert.equal(values.logLevel, 'warn');
  assert.equal(values.timeZone, 'America/Bogota');
  assert.equal(values.maxPoll, 12_500);
  assert.equal(values.maxTransitions, 8);
  assert.equal(sources.port, 'environment API_PORT (alias)');
  assert.equal(sources.maxTransitions, 'environment CAPATAZ_MAX_TRANSITIONS');
  const shown = showConfig(effective).find(({ key }) => key === 'port');
  assert.equal(shown?.source, 'environment API_PORT (alias)');
});

test('A-54: every problem of a configuration is told at once, with file and field', () => {
  const directory = folderWith({
    'capataz.toml':
      'prot = 80\nport = "80"\ndrain = "10"\nlog_level = "loud"\ntime_zone = "Mars"\nclients = "none.toml"\n',
  });
  const file = join(directory, 'capataz.toml');
  const problems = problemsOf({
    directory,
    environment: { CAPATAZ_MAX_BODY_BYTES: '7', CAPATAZ_DATADIR: 'x' },
    flags: { url: 'localhost' },
  });
  assert.deepEqual(problems.sort(), [
    `${file}: clients: ${join(directory, 'none.toml')} does not exist`,
    `${file}: drain: must be a duration like 500ms, 10s, 5m or 1h30m, not "10"`,
    `${file}: log_level: must be one of debug, info, warn, error, not "loud"`,
    `${file}: port: must be a whole number, not a string`,
    `${file}: prot: is no setting; did you mean port?`,
    `${file}: time_zone: must be a zone like UTC or America/Bogota, not "Mars"`,
    'environment CAPATAZ_DATADIR: is no setting; did you mean CAPATAZ_DATA_DIR?',
    'environment CAPATAZ_MAX_BODY_BYTES: must be from 1024 to 268435456, not 7',
    'flag --url: must be a URL that begins with http:// or https://, not "localhost"',
  ]);
});

test('A-54: a file that was named and is missing, or is no TOML, stops the start', () => {
  const directory = folderWith({ 'bad.toml': 'port = \n' });
  assert.match(
    problemsOf({ directory, flags: { config: 'no.toml' } })[0] ?? '',
    /no\.toml does not/,
  );
  assert.match(
    problemsOf({ directory, flags: { config: 'bad.toml' } })[0] ?? '',
    /bad\.toml:1:\d+/,
  );
  const environment = { CAPATAZ_CLIENTS: 'nobody.toml' };
  assert.match(problemsOf({ directory, environment })[0] ?? '', /CAPATAZ_CLIENTS: .*nobody\.toml/);
});

test('S-65: secrets are masked, and read from the file that …_FILE names', () => {
  const directory = folderWith({
    secret: 'hush\n',
    'capataz.toml': 'common_worker_token_file = "secret"\n',
  });
  const environment = { CAPATAZ_TOKEN_FILE: join(directory, 'secret') };
  const effective = load({ directory, environment });
  assert.equal(effective.values.token, 'hush');
  assert.equal(effective.values.commonWorkerToken, 'hush');
  assert.equal(effective.sources.token, 'environment CAPATAZ_TOKEN_FILE');
  assert.doesNotMatch(JSON.stringify(showConfig(effective)), /hush/);
});

test('names that are near no setting are left to others, and told', () => {
  const { unused } = load({ environment: { CAPATAZ_CODING_MODEL: 'x', CAPATAZ_TEST_RUN: 'y' } });
  assert.deepEqual(unused, ['CAPATAZ_CODING_MODEL']);
});

test("what others set under the seeds' names stops nothing: it is passed over and told", () => {
  const environment = { LOG_LEVEL: 'trace', TZ: ':/etc/localtime', API_PORT: 'http' };
  const { values, sources, warnings } = load({ environment });
  assert.deepEqual([values.logLevel, values.timeZone, values.port], ['info', 'UTC', 8080]);
  assert.equal(sources.logLevel, 'default');
  assert.equal(warnings.length, 3);
  assert.match(warnings.join('\n'), /environment LOG_LEVEL \(alias\): must be .*; it is not used/);
});

test('a bad alias that says who comes in or where work goes still stops the start', () => {
  for (const [name, value] of [
    ['WORKERS_CONFIG_PATH', 'none.toml'],
    ['BLUEPRINTS_DIR', 'none'],
    ['ORCHESTRATOR_URL', 'localhost'],
  ] as const) {
    assert.match(problemsOf({ environment: { [name]: value } })[0] ?? '', new RegExp(name));
  }
});

test('CAPATAZ_PORT as Kubernetes sets it is no port of ours', () => {
  const environment = { CAPATAZ_PORT: 'tcp://10.0.0.7:80', API_PORT: '9000' };
  const { values, warnings } = load({ environment });
  assert.equal(values.port, 9000);
  assert.match(warnings[0] ?? '', /^environment CAPATAZ_PORT: .*tcp:/);
  assert.match(problemsOf({ environment: { CAPATAZ_PORT: 'tcp' } })[0] ?? '', /CAPATAZ_PORT/);
});

test('the environment is checked for the settings in use, and for others when they are required', () => {
  const environment = { CAPATAZ_CLIENTS: 'none.toml', LOG_LEVEL: 'trace', CAPATAZ_DRAIN: '10' };
  const config = load({ environment, uses: ['url', 'drain'], flags: { drain: '3s' } });
  assert.deepEqual([config.values.clients, config.values.drain], [null, 3_000]);
  assert.deepEqual(config.warnings, []);
  requireSettings(config, ['port']);
  assert.throws(() => requireSettings(config, ['clients']), /CAPATAZ_CLIENTS: .*does not exist/);
});

test('each setting has one spelling a place, a meaning, and a default that it accepts itself', () => {
  const aliases = new Set<string>();
  for (const name of settingNames) {
    const { meaning, aliases: own = [] } = settingOf(name);
    assert.match(meaning, /\.$/, name);
    for (const alias of own) {
      assert.ok(!aliases.has(alias.name), alias.name);
      aliases.add(alias.name);
    }
  }
  assert.equal(fileKey('maxBodyBytes'), 'max_body_bytes');
  assert.equal(environmentName('maxBodyBytes'), 'CAPATAZ_MAX_BODY_BYTES');
  assert.equal(flagName('maxBodyBytes'), '--max-body-bytes');
});

test('A-46: retention is 30 days and a million jobs, and `off` or 0 from any source', () => {
  const shown = (effective: EffectiveConfig): string[] =>
    showConfig(effective).flatMap(({ key, value }) =>
      key.startsWith('retention_') ? `${key} ${value}` : [],
    );
  assert.deepEqual(shown(load()), ['retention_age 30d', 'retention_count 1000000']);
  const off = ['retention_age off', 'retention_count off'];
  for (const text of ['off', '0']) {
    const environment = { CAPATAZ_RETENTION_AGE: text, CAPATAZ_RETENTION_COUNT: text };
    assert.deepEqual(shown(load({ environment })), off);
    const flags = { retentionAge: text, retentionCount: text };
    assert.deepEqual(shown(load({ flags })), off);
  }
  for (const value of ['"off"', '0']) {
    const toml = `retention_age = ${value}\nretention_count = ${value}\n`;
    const { values } = load({ directory: folderWith({ 'capataz.toml': toml }) });
    assert.deepEqual([values.retentionAge, values.retentionCount], [0, 0]);
  }
  const given = load({ flags: { retentionAge: '36h', retentionCount: '5000' } });
  assert.deepEqual(shown(given), ['retention_age 1d12h', 'retention_count 5000']);
  const environment = { CAPATAZ_RETENTION_AGE: '30', CAPATAZ_RETENTION_COUNT: '-1' };
  assert.equal(problemsOf({ environment }).length, 2);
  assert.equal(problemsOf({ flags: { drain: 'off' } }).length, 1);
});

test('A-58: a setting that is true or false is written as such in the file, and in words elsewhere', () => {
  assert.equal(load({ directory: folderWith() }).values.filesKeep, false);
  const directory = folderWith({ 'capataz.toml': 'files_keep = true\n' });
  assert.equal(load({ directory }).values.filesKeep, true);
  for (const [text, value] of [
    ['no', false],
    ['FALSE', false],
    ['1', true],
  ] as const) {
    const environment = { CAPATAZ_FILES_KEEP: text };
    assert.equal(load({ directory, environment }).values.filesKeep, value);
  }
  const wrong = folderWith({ 'capataz.toml': 'files_keep = "true"\n' });
  assert.match(problemsOf({ directory: wrong })[0] ?? '', /files_keep: must be true or false/);
  const environment = { CAPATAZ_FILES_KEEP: 'maybe' };
  assert.match(problemsOf({ directory, environment })[0] ?? '', /true or false, not "maybe"/);
});

test('the public address is a base: no query, no fragment, and no slash at its end', () => {
  const of = (text: string) => ({ environment: { CAPATAZ_PUBLIC_URL: text } });
  assert.equal(load({}).values.publicUrl, null);
  assert.equal(load(of('https://c.example/jobs/')).values.publicUrl, 'https://c.example/jobs');
  const directory = folderWith({ 'capataz.toml': 'public_url = "http://c.example/"\n' });
  assert.equal(load({ directory }).values.publicUrl, 'http://c.example');
  const where = 'environment CAPATAZ_PUBLIC_URL';
  for (const text of ['https://c.example/?a=1', 'https://c.example/#a'])
    assert.deepEqual(problemsOf(of(text)), [
      `${where}: must have no query and no fragment: paths are put behind it, not "${text}"`,
    ]);
  assert.deepEqual(problemsOf(of('c.example')), [
    `${where}: must be a URL that begins with http:// or https://, not "c.example"`,
  ]);
});

test('an address that is no good is repeated without its password', () => {
  const environment = { CAPATAZ_URL: 'u:s3cret@h', CAPATAZ_BUS_URL_FILE: 'amqp://u:s3cret@h/v' };
  const lines = problemsOf({ environment });
  assert.equal(lines.length, 2);
  assert.doesNotMatch(lines.join('\n'), /s3cret/);
  assert.match(lines.join('\n'), /\*\*\*@h/);
});
