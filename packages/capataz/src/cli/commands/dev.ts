import { dirname, resolve } from 'node:path';
import { Command } from 'commander';
import type { RunningServer } from '../../compose/composition.ts';
import type { EffectiveConfig } from '../../config/load.ts';
import { type SettingName, settingNames, settingOf } from '../../config/settings.ts';
import { storeName } from '../../config/store-place.ts';
import { CapatazError } from '../../protocol/errors.ts';
import type { Log } from '../../std/log.ts';
import type { Worker } from '../../worker/index.ts';
import type { CliContext } from '../context.ts';
import { errorText } from '../exit.ts';
import {
  type ApplicationConfig,
  addApplicationSettings,
  addSettings,
  applicationSettings,
  effectiveConfig,
} from '../options.ts';
import { Printer } from '../output.ts';
import { processLog } from '../process-log.ts';
import { startWorker, workerOf } from '../run-worker.ts';
import { nextChange } from '../watch-files.ts';
import { loadWorkerModule, type WorkerModule } from '../worker-module.ts';

const devFlags = [
  'port',
  'host',
  'dataDir',
  'storeUrl',
  'blueprints',
  'logLevel',
  'logFormat',
] as const;
const notUsed: readonly SettingName[] = ['url', 'token'];
const devUses = settingNames.filter((name) => !notUsed.includes(name));

interface Flags {
  readonly worker: readonly string[];
}

export function devCommand(context: CliContext): Command {
  const command = new Command('dev').description(
    'Develop: a server on this machine alone, with everything on disk in one folder. It starts anew when a blueprint or worker module or schedules.toml changes.',
  );
  command.option(
    '-w, --worker <module>',
    'Run a worker module in this process, too. May be given several times.',
    (path: string, before: readonly string[]) => [...before, path],
    [],
  );
  addApplicationSettings(addSettings(command, devFlags), context);
  return command.action((flags: Flags) => develop(command, flags, context));
}

/** Nobody waits for the old code to end: what it holds is handed back and done by the new. */
function hasty(config: EffectiveConfig): EffectiveConfig {
  const { values, sources } = config;
  const drain = sources.drain === 'default' ? hastyDrainMs : values.drain;
  const workerDrain = sources.workerDrain === 'default' ? hastyDrainMs : values.workerDrain;
  return { ...config, values: { ...values, drain, workerDrain } };
}

const hastyDrainMs = 1_000;

interface Configs {
  readonly config: EffectiveConfig;
  readonly own: ApplicationConfig;
}

/** What is up between two changes. */
interface Round {
  readonly server: RunningServer;
  readonly workers: readonly { readonly worker: Worker; readonly module: WorkerModule }[];
}

async function develop(command: Command, flags: Flags, context: CliContext): Promise<void> {
  const config = hasty(effectiveConfig(command, context, { uses: devUses }));
  const own = applicationSettings(command, context);
  const stopping = new AbortController();
  const forget = context.onStop(() => stopping.abort());
  try {
    // From before the modules are read: a change meanwhile counts.
    const change = changeOrStop(config, flags, context, stopping.signal);
    const round = await begin({ config, own }, flags, context);
    if (round !== null) announce(round, config, context);
    const changed = await change;
    if (round !== null) await end(round);
    if (changed !== null) startAnew(changed, round, config, context);
  } finally {
    forget();
  }
}

/** A module that does not load is told, and waited for, as is a bad schedule: its author is just mending it. */
async function begin(
  { config, own }: Configs,
  flags: Flags,
  context: CliContext,
): Promise<Round | null> {
  const log = processLog({ ...config.values, ...quietLog(config) }, context);
  try {
    const modules: WorkerModule[] = [];
    for (const path of flags.worker) modules.push(await loadWorkerModule(path, context.directory));
    const server = await startOnFreePort({ config, own }, context, log);
    const workers: Round['workers'][number][] = [];
    for (const module of modules) {
      workers.push({ module, worker: await workerOf(module, config.values, server.url, log) });
    }
    await Promise.all(workers.map(({ worker }) => startWorker(worker)));
    return { server, workers };
  } catch (error) {
    if (!isMendable(error)) throw error;
    context.stderr.write(`${errorText(error, context.application.name)}waiting for a change\n`);
    return null;
  }
}

function isMendable(error: unknown): boolean {
  if (!(error instanceof CapatazError)) return false;
  const { module, schedules } = error.details ?? {};
  return error.code === 'BLUEPRINT_INVALID' || module !== undefined || schedules !== undefined;
}

/** On a terminal the log would bury what is worth seeing; who asks for it gets it. */
function quietLog({ sources, values }: EffectiveConfig): Pick<typeof values, 'logLevel'> {
  return { logLevel: sources.logLevel === 'default' ? 'warn' : values.logLevel };
}

/** The usual port may be taken: then any free one does, unless one was asked for. */
async function startOnFreePort(
  { config: { values, sources }, own }: Configs,
  context: CliContext,
  log: Log,
): Promise<RunningServer> {
  const { startServer } = await import('../../compose/start.ts');
  const { application, clock, random } = context;
  const parts = {
    name: application.name,
    composition: application.composition,
    config: values,
    settings: own.values,
    clock,
    random,
    log,
    allowChangedGraphs: true,
  };
  try {
    return await startServer(parts);
  } catch (error) {
    const isTaken = error instanceof CapatazError && error.details?.cause === 'EADDRINUSE';
    if (!isTaken || sources.port !== 'default') throw error;
    return await startServer({ ...parts, config: { ...values, port: 0 } });
  }
}

function announce({ server, workers }: Round, config: EffectiveConfig, context: CliContext): void {
  const { blueprints, storeUrl } = config.values;
  const kind = storeUrl === null ? 'SQLite' : 'PostgreSQL';
  const print = new Printer(context.stdout, config.values.timeZone);
  const names = server.blueprints.map(({ name, version }) => `${name} v${version}`).join(', ');
  const wanted = config.values.port;
  if (wanted !== 0 && new URL(server.url).port !== String(wanted)) {
    print.line(`port ${wanted} is taken by another process: using a free one`);
  }
  print.line(`listening on ${server.url}`);
  print.fields([
    ['  documents', `${server.url}/_public/docs`],
    ['  data', `${storeName(config.values)} (${kind}, kept between runs)`],
    ['  blueprints', blueprintsLine(blueprints, names)],
    ...workers.map(({ worker, module }): [string, string] => [
      '  worker',
      `${worker.id}: ${Object.keys(module.options.skills).join(', ')}`,
    ]),
    [
      '  access',
      server.openTo.length > 0 ? 'open: whoever is on this machine may use it' : 'by token',
    ],
  ]);
}

/** Those of an application lie in no folder. */
function blueprintsLine(folder: string | null, names: string): string {
  if (folder !== null) return `${folder}: ${names}`;
  return names === '' ? 'none: there is no folder "blueprints"' : names;
}

/** @returns the file that changed, or null when the process is to stop. */
async function changeOrStop(
  { values: { blueprints, schedules } }: EffectiveConfig,
  { worker }: Flags,
  { clock, directory }: CliContext,
  signal: AbortSignal,
): Promise<string | null> {
  const folders = new Set<string>(blueprints === null ? [] : [blueprints]);
  for (const path of worker) folders.add(dirname(resolve(directory, path)));
  const stopped = new Promise<null>((done) => {
    if (signal.aborted) return done(null);
    signal.addEventListener('abort', () => done(null), { once: true });
  });
  // One that is not there yet may come.
  const file = schedules ?? resolve(directory, String(settingOf('schedules').default));
  const watched = { folders: [...folders], files: [file] };
  return Promise.race([nextChange(watched, clock, signal), stopped]);
}

async function end({ server, workers }: Round): Promise<void> {
  await Promise.all(workers.map(({ worker }) => worker.stop()));
  await server.stop();
}

/**
 * Modules are loaded once a process, so the process is replaced: nothing of the old code stays, and
 * whoever started this one still has the same process.
 */
function startAnew(
  changed: string,
  round: Round | null,
  { values }: EffectiveConfig,
  { stdout, restart }: CliContext,
): void {
  stdout.write(`${changed} changed: starting anew\n`);
  const actual = round === null ? String(values.port) : new URL(round.server.url).port;
  // A free port that was taken stays the same, so that open pages find the server again.
  const port = actual === String(values.port) ? [] : ['--port', actual];
  if (!restart(port))
    stdout.write('this system cannot replace a process: start it again by hand\n');
}
