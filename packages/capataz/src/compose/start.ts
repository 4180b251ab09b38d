import { Breakers } from '../breaker/breakers.ts';
import type { Bus } from '../bus/contract.ts';
import { createInProcessBus } from '../bus/in-process.ts';
import { prefixedBus } from '../bus/prefixed.ts';
import type { Client } from '../client/index.ts';
import { readClients, readWorkers } from '../config/access-files.ts';
import { loadBlueprints } from '../config/blueprint-modules.ts';
import type { Schedules } from '../config/schedules-file.ts';
import type { SettingDeclarations, SettingValues } from '../config/setting.ts';
import type { Config } from '../config/settings.ts';
import type { Blueprint } from '../core/blueprint.ts';
import type { ClientInfo } from '../core/handler.ts';
import { createEngine, type Engine } from '../engine/engine.ts';
import { Feed } from '../engine/feed.ts';
import { Metrics } from '../metrics/metrics.ts';
import { CapatazError } from '../protocol/errors.ts';
import { type AccessEntries, createAccess, developmentClient } from '../server/access.ts';
import { createHttpServer, type HttpServer } from '../server/http-server.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { MovableClock } from '../std/movable-clock.ts';
import type { Random } from '../std/random.ts';
import type { Archive } from '../store/contract.ts';
import { blackoutCalendar } from './blackout-calendar.ts';
import { busAt } from './bus-at.ts';
import { busSink, judgeBus } from './bus-sink.ts';
import {
  type Composition,
  made,
  type RunningServer,
  type Setup,
  type Surroundings,
} from './composition.ts';
import { engineOptions, instanceOf } from './engine-options.ts';
import { checkExposure, openTo } from './exposure.ts';
import { checkSchedules, configuredSchedules, JobSchedules } from './job-schedules.ts';
import { localFiles, sweepScratch } from './local-files.ts';
import { archiveOf } from './open-archive.ts';
import { type OpenedStore, openStore } from './open-store.ts';
import { OwnClients } from './own-clients.ts';
import { createSchedules } from './schedules.ts';
import { Subscriptions } from './subscriptions.ts';
import { testClockRoutes } from './test-clock.ts';
import { packageVersion } from './version.ts';

export interface StartOptions {
  readonly name: string;
  readonly config: Config;
  /** The application's own. */
  readonly settings: SettingValues<SettingDeclarations>;
  readonly composition: Composition;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Default true. Else they can be seen, paused and resumed, and no slot of them starts. */
  readonly runsSchedules?: boolean;
  /** In development a changed graph under the same version is a warning, not an end. */
  readonly allowChangedGraphs?: boolean;
}

/** Everything that a start brings up, and `closing`, which brings it down in the opposite order. */
interface Starting extends StartOptions, OpenedStore {
  readonly archive: Archive | 'off' | null;
  readonly entries: AccessEntries;
  readonly schedules: Schedules;
  readonly clients: OwnClients;
  readonly surroundings: Surroundings;
  readonly closing: AsyncDisposableStack;
  /** For what runs: none after a start that failed. */
  readonly drainMs: () => number;
}

/**
 * Store, engine and HTTP from an effective configuration, and the application's parts around them.
 * It listens before it is ready, so that whoever asks in between is told so, and is ready when this
 * resolves.
 * @throws CapatazError CONFIG_INVALID, BLUEPRINT_INVALID, BLUEPRINT_CHANGED, STORE_IN_USE, …
 */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const { config, composition, clock, log, runsSchedules = true } = options;
  const entries = accessEntries(config);
  checkExposure(config, entries, clock);
  if (clock instanceof MovableClock) {
    log.warn('CAPATAZ_TEST_CLOCK: whoever comes in may move the clock of this server; for tests');
  }
  const clients = ownClients(options, entries);
  const setup = { config, settings: options.settings, clock, log };
  const found = await allBlueprints(composition, setup);
  const schedules = configuredSchedules(config, clock.now());
  if (runsSchedules) {
    checkSchedules(schedules, config.schedules, { blueprints: found, entries });
  }
  let drainMs = 0;
  const closing = new AsyncDisposableStack();
  try {
    closing.defer(logStrayRejections(log));
    const archive = archiveOf(config, clock);
    if (archive !== null && archive !== 'off') closing.defer(() => archive.close());
    const opened = await openStore(config, clock, log);
    closing.defer(() => opened.store.close());
    const bus = await busOf(composition, setup);
    closing.defer(() => bus?.close());
    const stores = await made(composition.stores ?? {}, setup);
    const client = (name?: string): Client => clients.named(name);
    const surroundings: Surroundings = { ...setup, stores, bus, client };
    closing.defer(() => composition.onStop?.(surroundings));
    // A blueprint's own stores go before the application's.
    const blueprints = found.map((one) => ({ ...one, stores: { ...stores, ...one.stores } }));
    const shared = {
      ...options,
      ...opened,
      archive,
      entries,
      schedules,
      clients,
      surroundings,
      closing,
    };
    const server = await startParts({ ...shared, drainMs: () => drainMs }, blueprints);
    drainMs = config.drain;
    return server;
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
}

/**
 * The application's own, else the configured one, else one in this process if anybody listens: it
 * says yes only once an event is handled, so that what it holds in memory is in the outbox, too.
 * @throws CapatazError CONFIG_INVALID
 */
async function busOf(
  { bus, codec, subscriptions }: Composition,
  { config, ...setup }: Setup,
): Promise<Bus | null> {
  if (bus !== undefined) return made(bus, { config, ...setup });
  const { clock, log } = setup;
  const options = { clock, log, ...(codec === undefined ? {} : { codec }) };
  if (config.busUrl !== null) {
    const configured = busAt(config.busUrl, options);
    return config.busPrefix === null ? configured : prefixedBus(configured, config.busPrefix);
  }
  return subscriptions === undefined
    ? null
    : createInProcessBus({ ...options, confirm: 'handled' });
}

async function startParts(
  starting: Starting,
  blueprints: readonly Blueprint[],
): Promise<RunningServer> {
  const { config, composition, surroundings, closing, drainMs, clock, log } = starting;
  const { bus } = surroundings;
  // With subscriptions there is always one.
  const listening =
    bus === null ? [] : await made(composition.subscriptions ?? [], { ...surroundings, bus });
  const subscriptions = new Subscriptions(listening, starting);
  const parts = await createParts(starting, blueprints, subscriptions);
  const { engine, http, jobSchedules } = parts;
  const feeds = (await made(composition.feeds ?? [], surroundings)).map(
    (options) => new Feed(options, { events: engine.events, clock, log }),
  );
  closing.defer(async () => {
    const drain = { drainMs: drainMs() };
    await Promise.all([http.close(drain), engine.stop(drain)]);
  });
  const url = await listen(http, config);
  starting.clients.listensAt(url);
  await sweepScratch(config, clock.now());
  await engine.start({ allowChangedGraphs: starting.allowChangedGraphs ?? false });
  starting.publishUrl(url);
  if (surroundings.bus === null) await warnOfEvents(starting);
  const stop = (): Promise<void> => closing.disposeAsync();
  const server: RunningServer = {
    ...surroundings,
    url,
    blueprints,
    openTo: openTo(starting.entries),
    stop,
  };
  const definitions = await made(composition.schedules ?? [], surroundings);
  const schedules = createSchedules(definitions, { server, clock, log });
  // Before the engine and its API: what applies events may ask it. The rest comes after the next start.
  closing.defer(() => allOf(feeds, (feed) => feed.stop()));
  for (const feed of feeds) feed.start();
  await composition.onStart?.(server);
  closing.defer(() => allOf(schedules, (schedule) => schedule.stop(drainMs())));
  for (const schedule of schedules) schedule.start();
  // What starts jobs stops before the engine does.
  closing.defer(() => jobSchedules.stop());
  if (starting.runsSchedules ?? true) jobSchedules.start();
  // They come last and stop first: what they handle may use everything else.
  closing.defer(() => subscriptions.stop());
  subscriptions.start();
  return server;
}

/** Whose jobs are those that nobody else's name stands on. */
function defaultClient(name: string, { clients }: AccessEntries): string {
  return clients === null ? developmentClient.name : name;
}

async function warnOfEvents({ store, log }: Starting): Promise<void> {
  const { outbox } = await store.counts();
  if (outbox === 0) return;
  log.warn('events wait for a bus, and none is configured: set bus_url', { events: outbox });
}

interface Parts {
  readonly engine: Engine;
  readonly http: HttpServer;
  readonly jobSchedules: JobSchedules;
}

async function createParts(
  starting: Starting,
  blueprints: readonly Blueprint[],
  subscriptions: Subscriptions,
): Promise<Parts> {
  const { name, config, entries, schedules, clients, store, archive } = starting;
  const { surroundings, composition, closing, clock, random, log } = starting;
  const instance = instanceOf(config);
  const shared = { clock, random, log, ...localFiles({ config, instance, clock, random, log }) };
  const breakers = new Breakers({ clock, log, judge: judgeBus });
  const { bus } = surroundings;
  // In process the names of who listens vanish with it: before they are back an event would pass by.
  const isOurs = composition.bus === undefined && config.busUrl === null;
  const mayPublish = (): boolean => !isOurs || subscriptions.haveBegun;
  const sink =
    bus === null ? {} : { sink: busSink({ bus, breakers, originator: name, mayPublish }) };
  const sources = () => ({ store, workers: engine.workers });
  const circuits = { list: () => engine.circuits.list() };
  const metrics = new Metrics({
    clock,
    sources,
    breakers: [breakers, circuits],
    subscriptions,
    movesHistory: archive !== null,
  });
  metrics.start();
  closing.defer(() => metrics.stop());
  const engine: Engine = createEngine({
    ...shared,
    ...sink,
    store,
    ...(archive === null ? {} : { archive }),
    observer: metrics,
    blueprints,
    ...engineOptions(config),
    blackouts: blackoutCalendar(schedules.blackouts),
    liveForMs: (name) => subscriptions.liveForMs(name),
    client: clientReader(entries),
  });
  const jobSchedules = new JobSchedules(schedules, {
    ...{ store, clock, log, jobs: engine.jobs, file: config.schedules },
    client: defaultClient(name, entries),
    meter: (...told) => metrics.onSlots(...told),
  });
  const routes = await made(composition.routes ?? [], surroundings);
  const http = createHttpServer({
    ...shared,
    engine,
    access: clients,
    limits: {
      bodyBytes: config.maxBodyBytes,
      pollMs: config.maxPoll,
      streams: config.maxStreams,
    },
    version: packageVersion(),
    publicUrl: config.publicUrl,
    schedules: jobSchedules,
    metrics: {
      scrape: (accept) => metrics.scrape(accept),
      token: config.metricsToken,
    },
    furtherRoutes: [...testClockRoutes(clock), ...routes],
  });
  return { engine, http, jobSchedules };
}

/** Those of the folder and those in code; one that is in both counts once. */
async function allBlueprints(
  { blueprints = [] }: Composition,
  setup: Setup,
): Promise<readonly Blueprint[]> {
  const { blueprints: folder } = setup.config;
  const inFolder = folder === null ? [] : await loadBlueprints(folder);
  return [...new Set([...inFolder, ...(await made(blueprints, setup))])];
}

function ownClients({ name, clock, random }: StartOptions, entries: AccessEntries): OwnClients {
  return new OwnClients({
    access: createAccess(entries),
    client: clientReader(entries),
    defaultName: defaultClient(name, entries),
    clock,
    random,
  });
}

function accessEntries({ clients, workers, commonWorkerToken }: Config): AccessEntries {
  return {
    clients: clients === null ? null : readClients(clients),
    workers: workers === null ? null : readWorkers(workers),
    commonWorkerToken,
  };
}

function clientReader({ clients }: AccessEntries): (name: string) => ClientInfo {
  const byName = new Map(clients?.map((client) => [client.name, client]));
  return (name) => {
    const client = byName.get(name);
    return { name, plan: client?.plan ?? null, params: client?.params ?? {} };
  };
}

async function listen(http: HttpServer, { host, port }: Config): Promise<string> {
  try {
    return await http.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (typeof code !== 'string') throw error;
    const reason = code === 'EADDRINUSE' ? 'is taken by another process' : `is refused (${code})`;
    throw new CapatazError(
      'CONFIG_INVALID',
      `${host} port ${port} ${reason}; choose another with --port, 0 for a free one`,
      { cause: String(code) },
      error,
    );
  }
}

/** A promise that a handler left alone and that failed later is no reason to end all other jobs. */
function logStrayRejections(log: Log): () => void {
  const onStray = (error: unknown): void =>
    log.error('a promise that nobody waited for was rejected; a handler left it', { error });
  process.on('unhandledRejection', onStray);
  return () => {
    process.off('unhandledRejection', onStray);
  };
}

async function allOf<T>(items: readonly T[], stop: (item: T) => Promise<void>): Promise<void> {
  await Promise.all(items.map(stop));
}
