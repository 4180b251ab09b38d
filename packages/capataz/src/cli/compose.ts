import { hostname } from 'node:os';
import { join } from 'node:path';
import { readClients, readWorkers } from '../config/access-files.ts';
import { loadBlueprints } from '../config/blueprint-modules.ts';
import type { Config } from '../config/settings.ts';
import type { Blueprint } from '../core/blueprint.ts';
import { createEngine, type Engine } from '../engine/engine.ts';
import type { FilesOptions } from '../files/contract.ts';
import type { LinkKey } from '../files/links.ts';
import { LocalFiles, linkKeyIn } from '../files/local-files.ts';
import { CapatazError } from '../protocol/errors.ts';
import {
  type AccessEntries,
  createAccess,
  createHttpServer,
  type HttpServer,
} from '../server/index.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import { openSqliteStore, type SqliteStore } from '../store/sqlite/index.ts';
import type { CliContext } from './context.ts';
import { packageVersion } from './version.ts';

/** A server of our own, with everything behind it. */
export interface RunningServer {
  readonly url: string;
  readonly blueprints: readonly Blueprint[];
  /** Neither clients nor workers need a token. */
  readonly isOpen: boolean;
  /** Takes nothing new, lets what runs end within the configured drain time, frees the store. */
  stop(): Promise<void>;
}

export interface ServerParts {
  readonly config: Config;
  readonly context: Pick<CliContext, 'clock' | 'random'>;
  readonly log: Log;
  /** In development a changed graph under the same version is a warning, not an end. */
  readonly allowChangedGraphs?: boolean;
}

/**
 * Store, engine and HTTP from an effective configuration. It listens before it is ready, so that
 * whoever asks in between is told so, and is ready when this resolves.
 * @throws CapatazError CONFIG_INVALID, BLUEPRINT_INVALID, BLUEPRINT_CHANGED, STORE_IN_USE, …
 */
export async function startServer({
  config,
  context: { clock, random },
  log,
  allowChangedGraphs = false,
}: ServerParts): Promise<RunningServer> {
  const entries = accessEntries(config);
  checkExposure(config, entries);
  const access = createAccess(entries);
  const blueprints = config.blueprints === null ? [] : await loadBlueprints(config.blueprints);
  const store = await openSqliteStore({ folder: config.dataDir, clock });
  const linkKey = linkKeyIn(filesFolder(config), random);
  const files = localFiles(config, { clock, random, log, linkKey });
  const engine = createEngine({
    store,
    files,
    blueprints,
    clock,
    random,
    log,
    instance: config.instance ?? `${hostname()}-${process.pid}`,
    client: clientReader(entries),
    settings: {
      maxTransitions: config.maxTransitions,
      maxHandlers: config.maxHandlers,
      leaseMs: config.handlerLease,
      checkEveryMs: config.checkEvery,
      orphanAfterMs: config.orphanAfter,
      retentionAgeMs: config.retentionAge,
      retentionCount: config.retentionCount,
    },
  });
  const limits = {
    bodyBytes: config.maxBodyBytes,
    pollMs: config.maxPoll,
    streams: config.maxStreams,
  };
  const shared = { engine, access, clock, random, log, files, linkKey };
  const http = createHttpServer({ ...shared, limits, version: packageVersion() });
  const running = { store, engine, http, drainMs: config.drain, forget: logStrayRejections(log) };
  try {
    const url = await listen(http, config);
    await engine.start({ allowChangedGraphs });
    store.publishUrl(url);
    const isOpen = entries.clients === null || isOpenToWorkers(entries);
    return { url, blueprints, isOpen, stop: () => stop(running) };
  } catch (error) {
    await stop({ ...running, drainMs: 0 });
    throw error;
  }
}

/** Beside the store, whose lock keeps other processes from this folder, too. */
function filesFolder({ dataDir }: Config): string {
  return join(dataDir, 'files');
}

function localFiles(
  config: Config,
  parts: {
    readonly clock: Clock;
    readonly random: Random;
    readonly log: Log;
    readonly linkKey: LinkKey;
  },
): FilesOptions {
  const { filesMaxSize, filesMaxTransfers, filesKeep } = config;
  const folder = filesFolder(config);
  return {
    store: new LocalFiles({ ...parts, folder, maxTransfers: filesMaxTransfers }),
    maxBytes: filesMaxSize,
    keep: filesKeep,
    workFolder: join(folder, 'work'),
  };
}

function accessEntries({ clients, workers, commonWorkerToken }: Config): AccessEntries {
  return {
    clients: clients === null ? null : readClients(clients),
    workers: workers === null ? null : readWorkers(workers),
    commonWorkerToken,
  };
}

function isOpenToWorkers({ workers, commonWorkerToken }: AccessEntries): boolean {
  return workers === null && commonWorkerToken === null;
}

/** Open mode is for one machine (S-52). */
function checkExposure({ host }: Config, entries: AccessEntries): void {
  if (isLoopback(host)) return;
  const open = [
    ...(entries.clients === null ? ['clients (clients.toml)'] : []),
    ...(isOpenToWorkers(entries) ? ['workers (workers.toml or common_worker_token)'] : []),
  ];
  if (open.length === 0) return;
  throw new CapatazError(
    'CONFIG_INVALID',
    `host ${host} is not loopback, and anybody could come in: give tokens to ${open.join(' and to ')}, or listen on 127.0.0.1`,
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function clientReader({ clients }: AccessEntries): (name: string) => {
  name: string;
  plan: string | null;
  params: NonNullable<NonNullable<AccessEntries['clients']>[number]['params']>;
} {
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
  return () => process.off('unhandledRejection', onStray);
}

async function stop({
  store,
  engine,
  http,
  drainMs,
  forget,
}: {
  store: SqliteStore;
  engine: Engine;
  http: HttpServer;
  drainMs: number;
  forget: () => void;
}): Promise<void> {
  try {
    await Promise.all([http.close({ drainMs }), engine.stop({ drainMs })]);
    await store.close();
  } finally {
    forget();
  }
}
