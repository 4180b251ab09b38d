/** The command line of an application: ours under its name, and its own. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { blueprint, finish } from 'capataz';
import { UsageError } from 'capataz/server';
import { folderWith, type Ran, type RunOptions, runIn } from '../cli/fixtures/context.ts';
import { until } from '../testing/until.ts';
import { applicationOf } from './application-of.ts';
import type { ServerOptions } from './options.ts';

const greet = blueprint({
  name: 'greet',
  version: 1,
  states: {
    single: { start: true, end: true, handle: (job) => finish(`${job.stores.greeting}!`) },
  },
});

const settings = {
  greeting: { type: 'string', default: 'Hello', meaning: 'What is said.' },
  pace: { type: 'duration', default: '10s', meaning: 'How often.' },
  apiKey: { type: 'string', default: null, secret: true, meaning: 'For the printer.' },
  price: { type: 'number', default: 0.5, range: [0, 10], meaning: 'USD of a page.' },
  printers: {
    type: 'tables',
    default: null,
    meaning: 'Those that there are.',
    fields: {
      name: { type: 'string', default: null, meaning: 'Its own.' },
      warmUp: { type: 'duration', default: '1m', meaning: 'How long it takes.' },
    },
  },
} as const;

const relay: ServerOptions<typeof settings, { readonly greeting: string }> = {
  name: 'relay',
  settings,
  blueprints: [greet],
  stores: (setup) => ({ greeting: setup.settings.greeting }),
  commands: [
    {
      name: 'count [blueprint]',
      description: 'Count jobs.',
      options: [{ flags: '--status <status>', description: 'Only these.' }],
      run: async ({ client, print, arguments: [of], options, asJson }) => {
        const status = typeof options.status === 'string' ? [options.status] : undefined;
        const { jobs } = await client.jobs.list({
          ...(of === undefined ? {} : { blueprint: of }),
          ...(status === undefined ? {} : { status }),
        });
        if (asJson) print.json({ count: jobs.length });
        else print.line(`${jobs.length} jobs`);
        return jobs.length === 0 ? 1 : 0;
      },
    },
    {
      name: 'say',
      description: 'Say it.',
      needsServer: false,
      run: (context) => {
        if (context.settings.apiKey === null) throw new UsageError('say needs --api-key');
        context.print.line(`${context.settings.greeting} every ${context.settings.pace} ms`);
        for (const { name, warmUp } of context.settings.printers)
          context.print.line(`on ${name}, which takes ${warmUp} ms`);
      },
    },
  ],
};

const application = applicationOf(relay as unknown as ServerOptions);

function run(folder: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return runIn(folder, args, { ...options, application });
}

test('S-65: the commands of Capataz are the application’s, with its blueprints and stores, beside its own', async () => {
  const folder = folderWith();
  const help = await run(folder, ['--help']);
  assert.match(help.stdout, /^Usage: relay /);
  assert.match(help.stdout, /\n {2}serve [\s\S]*\n {2}count .*Count jobs\./);
  const started = await run(folder, ['jobs', 'start', 'greet', '--watch']);
  assert.equal(started.code, 0, started.stderr);
  const [id = ''] = started.stdout.split('\n');
  const shown = await run(folder, ['jobs', 'show', id, '--json']);
  assert.partialDeepStrictEqual(JSON.parse(shown.stdout), { result: 'Hello!' });
  assert.equal((await run(folder, ['count', 'greet'])).stdout, '1 jobs\n');
  const none = await run(folder, ['count', '--status', 'failed', '--json']);
  assert.deepEqual([none.code, JSON.parse(none.stdout)], [1, { count: 0 }]);
  const wrong = await run(folder, ['count', '--state', 'failed']);
  assert.equal(wrong.code, 2);
});

test('S-65: a command that needs no server starts none, and says what is wrong as ours do', async () => {
  const folder = folderWith();
  const said = await run(folder, ['say', '--api-key', 'k', '--greeting', 'Hi']);
  assert.equal(said.stdout, 'Hi every 10000 ms\n', said.stderr);
  assert.equal(existsSync(join(folder, '.capataz')), false);
  const refused = await run(folder, ['say']);
  assert.deepEqual([refused.code, refused.stderr], [2, 'error USAGE: say needs --api-key\n']);
});

test('S-65: flags go before the environment, that before the file, and `config` says which it was', async () => {
  const folder = folderWith({ 'relay.toml': 'greeting = "Hola"\npace = "1m"\n' });
  const shown = async (args: readonly string[], environment = {}): Promise<string[]> => {
    const { stdout, stderr } = await run(folder, ['config', ...args], { environment });
    assert.equal(stderr, '');
    return stdout.split('\n').filter((line) => /^(?:greeting|pace) /.test(line));
  };
  const file = join(folder, 'relay.toml');
  const spaced = (lines: string[]): string[] => lines.map((line) => line.replaceAll(/ {2,}/g, '|'));
  assert.deepEqual(spaced(await shown([])), [
    `greeting|Hola|${file}: greeting`,
    `pace|1m|${file}: pace`,
  ]);
  const environment = { RELAY_PACE: '2m', RELAY_GREETING: 'Olá' };
  assert.deepEqual(spaced(await shown(['--greeting', 'Hi'], environment)), [
    'greeting|Hi|flag --greeting',
    'pace|2m|environment RELAY_PACE',
  ]);
});

test('S-65: a secret is read from a file, too, and masked everywhere', async () => {
  const folder = folderWith({ 'key.txt': 'very-secret\n' });
  const sources: readonly (readonly [readonly string[], Readonly<Record<string, string>>])[] = [
    [['--api-key', 'very-secret'], {}],
    [[], { RELAY_API_KEY: 'very-secret' }],
    [[], { RELAY_API_KEY_FILE: 'key.txt' }],
  ];
  for (const [args, environment] of sources) {
    const text = await run(folder, ['config', ...args], { environment });
    assert.match(text.stdout, /^api_key +\*{8} /m);
    const json = await run(folder, ['config', '--json', ...args], { environment });
    assert.doesNotMatch(`${text.stdout}${text.stderr}${json.stdout}${json.stderr}`, /very-secret/);
    assert.equal((await run(folder, ['say', ...args], { environment })).code, 0);
  }
  writeFileSync(join(folder, 'relay.toml'), 'api_key_file = "key.txt"\n');
  assert.match(
    (await run(folder, ['config'])).stdout,
    /^api_key +\*{8} .*relay\.toml: api_key_file/m,
  );
});

test('S-65: a setting of ours that stands in the application’s file is told where it belongs', async () => {
  const folder = folderWith({ 'relay.toml': 'store_url = "postgres://host/db"\n' });
  const { code, stderr } = await run(folder, ['count']);
  assert.equal(code, 2);
  assert.match(stderr, /relay\.toml: store_url: is a setting of capataz\.toml/);
});

test('S-65: what is wrong with the application’s settings stops its own commands, and no look at jobs', async () => {
  const folder = folderWith();
  const environment = { RELAY_PACE: 'often', RELAY_GREETNIG: 'Hi' };
  const { code, stderr } = await run(folder, ['count'], { environment });
  assert.equal(code, 2);
  assert.match(stderr, /environment RELAY_PACE: must be a duration/);
  assert.match(stderr, /environment RELAY_GREETNIG: is no setting; did you mean RELAY_GREETING\?/);
  assert.match(stderr, /`relay config` shows every setting/);
  const listed = await run(folder, ['jobs', 'list', '--data-dir', 'data'], { environment });
  assert.equal(listed.code, 0, listed.stderr);
});

test('S-65: the file of the settings may have a name of its own, and an empty text may be a value', async () => {
  const named = applicationOf({
    ...relay,
    settings: { note: { type: 'string', default: 'none', canBeEmpty: true, meaning: 'A note.' } },
    settingsFile: 'parcels.toml',
  } as unknown as ServerOptions);
  const folder = folderWith({ 'relay.toml': 'note = 7\n', 'parcels.toml': 'note = ""\n' });
  const { code, stdout, stderr } = await runIn(folder, ['config'], { application: named });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^note +.*parcels\.toml: note$/m);
});

test('S-66: a command that is its own server feeds the application’s tables, too', async () => {
  const folder = folderWith();
  const told: string[] = [];
  let place = 0;
  const feeding: ServerOptions = {
    name: 'relay',
    blueprints: [greet],
    stores: { greeting: 'Hello' },
    feeds: [
      {
        name: 'told',
        position: () => place,
        apply: (events, position) => {
          place = position;
          told.push(...events.map(({ entry }) => entry.type));
        },
      },
    ],
    commands: [
      {
        name: 'greet',
        description: 'Greet, and wait until it is told.',
        run: async ({ client }) => {
          await client.jobs.start('greet');
          await until(() => told.includes('job_finished'));
        },
      },
    ],
  };
  const { code, stderr } = await runIn(folder, ['greet'], { application: applicationOf(feeding) });
  assert.equal(code, 0, stderr);
});

test('S-73 S-65: an application may have tables in its file, which are checked field by field', async () => {
  const text = '[[printers]]\nname = "big"\n\n[[printers]]\nname = "fast"\nwarm_up = "5s"\n';
  const folder = folderWith({ 'relay.toml': `price = 0.25\n${text}` });
  const said = await run(folder, ['say', '--api-key', 'k']);
  assert.equal(
    said.stdout,
    'Hello every 10000 ms\non big, which takes 60000 ms\non fast, which takes 5000 ms\n',
    said.stderr,
  );
  assert.match((await run(folder, ['config'])).stdout, /^printers +2 entries .*\[\[printers\]\]/m);
  assert.doesNotMatch((await run(folder, ['say', '--help'])).stdout, /--printers/);
  const wrong = '[[printers]]\nname = 5\nwarmup = "5s"\nwarm_up = "soon"\n';
  writeFileSync(join(folder, 'relay.toml'), `price = 11\n${wrong}`);
  const { code, stderr } = await run(folder, ['say', '--api-key', 'k']);
  assert.equal(code, 2);
  for (const problem of [
    /relay\.toml: price: must be from 0 to 10, not 11/,
    /relay\.toml: \[\[printers\]\] 1 name: must be a string, not a number/,
    /relay\.toml: \[\[printers\]\] 1 warmup: is no setting; did you mean warm_up\?/,
    /relay\.toml: \[\[printers\]\] 1 warm_up: must be a duration/,
  ])
    assert.match(stderr, problem);
  writeFileSync(join(folder, 'relay.toml'), 'printers = "all"\n');
  const single = await run(folder, ['say', '--api-key', 'k']);
  assert.match(
    single.stderr,
    /relay\.toml: printers: must be tables \(\[\[printers\]\]\), not a string/,
  );
});
