import { existsSync } from 'node:fs';
import { type Client, createClient } from '../client/index.ts';
import type { Composition } from '../compose/composition.ts';
import { type EffectiveConfig, requireSettings } from '../config/load.ts';
import { storeName } from '../config/store-place.ts';
import { CapatazError } from '../protocol/errors.ts';
import { delay } from '../std/clock.ts';
import { describeHolder } from '../store/sqlite/index.ts';
import type { CliContext } from './context.ts';
import { liveFetch } from './live-fetch.ts';
import { type ApplicationConfig, applicationSettings, serverSettings } from './options.ts';
import { processLog } from './process-log.ts';

/** Another command that works on the data folder is through in well under a second. */
const holderPatienceMs = 5_000;
const holderLookMs = 50;

/** All but those that are set below. */
const embeddedSettings = serverSettings.filter(
  (name) => !['host', 'port', 'logLevel', 'schedules'].includes(name),
);

/** A command is not who decides what is forgotten: the settings of the server may be others. */
const withoutRetention = { retentionAge: 0, retentionCount: 0, filesKeep: true };

/** A server that offers no versions must not conclude that nobody does and park their jobs. */
const withoutBlueprints = { blueprints: null, orphanAfter: 30 * 86_400_000 };

export interface ConnectOptions {
  /**
   * A server of our own gets the blueprints: for commands that move jobs on. Others must work
   * whatever became of the modules, and move nothing. Default false.
   */
  readonly needsBlueprints?: boolean;
  /** A server of our own has the schedules, to be seen and paused; it starts none. Default false. */
  readonly needsSchedules?: boolean;
  /** The application's own, where the command has flags for them. Default: read from elsewhere. */
  readonly settings?: ApplicationConfig['values'];
}

interface Connect extends ConnectOptions {
  readonly config: EffectiveConfig;
  readonly context: CliContext;
}

/** `embeddedUrl`: where a server of our own listens meanwhile; null for another's. */
type Work<T> = (client: Client, embeddedUrl: string | null) => Promise<T>;

/**
 * Lends a client of the server that is meant (S-67): the one that was named, else the one that
 * holds the data folder, else one of our own on that folder for as long as the work takes, else the
 * one at the usual address.
 * @throws CapatazError UNREACHABLE where there is none and nothing to embed one on
 */
export async function withClient<T>(connect: Connect, work: Work<T>): Promise<T> {
  const { config, context } = connect;
  const url = config.values.url ?? (await runningUrl(connect));
  if (url !== null) return work(clientOf(url, connect), null);
  if (mayEmbed(config, context)) return withEmbedded(connect, work);
  return work(clientOf(await usualUrl(connect), connect), null);
}

/** @throws CapatazError UNREACHABLE */
async function usualUrl(connect: Connect): Promise<string> {
  const { dataDir } = connect.config.values;
  const { defaultUrl, stderr } = connect.context;
  if (await clientOf(defaultUrl, connect).health()) {
    stderr.write(`there is no data folder ${dataDir}: talking to ${defaultUrl}\n`);
    return defaultUrl;
  }
  throw new CapatazError(
    'UNREACHABLE',
    `no server answers at ${defaultUrl}, and there is no data folder ${dataDir} to work on`,
  );
}

/** Whoever holds the data folder; of a store of several servers, the one at the usual address. */
async function runningUrl(connect: Connect): Promise<string | null> {
  const { config, context } = connect;
  if (config.values.storeUrl === null) return holderUrl(config, context);
  return (await clientOf(context.defaultUrl, connect).health()) ? context.defaultUrl : null;
}

/** A command in the wrong folder must not leave a new store behind. */
function mayEmbed({ values, sources }: EffectiveConfig, { application }: CliContext): boolean {
  const isHome = values.blueprints !== null || application.composition.blueprints !== undefined;
  const isNamed = values.storeUrl !== null || sources.dataDir !== 'default';
  return isHome || existsSync(values.dataDir) || isNamed;
}

/** @returns null when nobody holds the data folder. */
async function holderUrl(
  { values: { dataDir } }: EffectiveConfig,
  { clock }: CliContext,
): Promise<string | null> {
  const patientUntil = clock.steady() + holderPatienceMs;
  for (;;) {
    const holder = describeHolder(dataDir);
    if (holder === null) return null;
    if (holder.url !== null) return holder.url;
    if (clock.steady() > patientUntil) {
      throw new CapatazError(
        'STORE_IN_USE',
        `${dataDir} is held by process ${holder.pid} on ${holder.host}, which serves nobody`,
      );
    }
    await delay(clock, holderLookMs);
  }
}

async function withEmbedded<T>(connect: Connect, work: Work<T>): Promise<T> {
  const { config, context, needsBlueprints = false, needsSchedules = false } = connect;
  requireSettings(config, [...embeddedSettings, ...(needsSchedules ? ['schedules' as const] : [])]);
  const values = {
    ...config.values,
    ...withoutRetention,
    ...(needsSchedules ? {} : { schedules: null }),
    ...(needsBlueprints ? {} : withoutBlueprints),
    host: '127.0.0.1',
    port: 0,
    logLevel: 'warn' as const,
  };
  const log = processLog(values, context);
  const place = storeName(values);
  context.stderr.write(
    values.storeUrl === null
      ? `no server runs on ${place}: working on it directly\n`
      : `working on ${place} directly, as the servers on it do; --url names one to ask instead\n`,
  );
  // Loaded when it is needed: a server takes as long to load as all the rest.
  const { startServer } = await import('../compose/start.ts');
  const { application, clock, random } = context;
  const server = await startServer({
    name: application.name,
    config: values,
    ...(needsBlueprints
      ? {
          composition: handlersAndFeeds(application.composition),
          settings: connect.settings ?? applicationSettings(null, context).values,
        }
      : { composition: {}, settings: {} }),
    // Slots are the server's: a look at what there is starts none.
    runsSchedules: false,
    clock,
    random,
    log,
  });
  try {
    return await work(clientOf(server.url, connect), server.url);
  } finally {
    await server.stop();
  }
}

/** A feed tells of what is done here, too. Schedules and routes are the server's alone. */
function handlersAndFeeds({ blueprints, stores, feeds, onStop }: Composition): Composition {
  return {
    ...(blueprints === undefined ? {} : { blueprints }),
    ...(stores === undefined ? {} : { stores }),
    ...(feeds === undefined ? {} : { feeds }),
    ...(onStop === undefined ? {} : { onStop }),
  };
}

function clientOf(url: string, { config: { values }, context: { stderr } }: Connect): Client {
  const { token } = values;
  return createClient({
    url,
    fetch: liveFetch(stderr),
    ...(token === null ? {} : { token }),
  });
}
