import type { ClientBase } from 'pg';
import {
  clientConfig,
  type Driver,
  type DriverSettings,
  loadDriver,
} from '../../postgres/driver.ts';
import { isPoolersRefusal, outage } from '../../postgres/errors.ts';
import { appliedIn } from '../../postgres/migrate.ts';
import { type Place, readPlace } from '../../postgres/place.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { type Clock, systemClock } from '../../std/clock.ts';
import { type Log, silentLog } from '../../std/log.ts';
import type { Migration } from '../../std/migrations.ts';
import { type Random, systemRandom } from '../../std/random.ts';
import type { Store } from '../contract.ts';
import { pendingOf } from '../migrations.ts';
import { unavailable } from '../refusals.ts';
import { StoreTime } from '../store-time.ts';
import { Announcer } from './announcer.ts';
import type { Connections } from './connections.ts';
import { LockedJobs } from './locked-jobs.ts';
import { migrate, readMigrations } from './migrate.ts';
import { admit } from './occupancy.ts';
import { Partitions } from './partitions.ts';
import { openConnections } from './pool.ts';
import { Reads } from './reads.ts';
import { statementText } from './statements.ts';
import { OpenPostgresStore } from './store.ts';
import { WakeUps } from './wake-ups.ts';
import { maxUnderWay } from './writer.ts';

export interface PostgresStoreOptions {
  /**
   * `postgres://user:password@host:port/database`. The tables lie in the schema that `?schema=` names,
   * by default `capataz`; it is made if it is not there.
   */
  readonly url: string;
  /**
   * The server itself, past a pooler through which `url` goes and that lends a connection for one
   * transaction: for migrations, and to listen. Default: there is no pooler.
   */
  readonly directUrl?: string;
  /** Connections besides the two that commit and the one that listens. Default 4. */
  readonly connections?: number;
  /** How long a connection may take to come about. Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** How long the server works on one statement. Default 10 s: 5 s later a connection where no answer
   * comes is given up. */
  readonly statementTimeoutMs?: number;
  /**
   * For tests: the time of this clock in place of the server's. It is an option of the process and no
   * row in the database, so that no server ever lives in a time that a test has left behind.
   */
  readonly clock?: Clock;
  /** Names this store to others. */
  readonly random?: Pick<Random, 'id'>;
  /** Told where it can't listen for what others commit. Default: nobody. */
  readonly log?: Log;
}

/** A migration may have a large table to change. */
const migrationTimeoutMs = 3_600_000;
const behindPooler =
  'the URL leads through a pooler, which keeps no settings of a session: name the server itself beside it, as store_direct_url';
const defaultTimeouts = { connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 };

/**
 * Opens a store that several instances share.
 * @throws CapatazError STORE_NEWER, STORE_IN_USE, STORE_MOVED, STORE_INCOMPLETE, STORE_UNAVAILABLE
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { connections = 4, clock } = options;
  const { random = systemRandom, log = silentLog } = options;
  const { connectTimeoutMs, statementTimeoutMs } = { ...defaultTimeouts, ...options };
  const { directUrl } = options;
  const limits = { connectTimeoutMs, statementTimeoutMs };
  const pooled = { ...placeOf(options.url), ...limits, isPooled: directUrl !== undefined };
  const settings = directUrl === undefined ? pooled : { ...placeOf(directUrl), ...limits };
  if (settings.schema !== pooled.schema)
    throw new CapatazError('CONFIG_INVALID', 'both URLs of the store have to name the same schema');
  const driver = await installedDriver();
  await prepare(driver, { ...settings, statementTimeoutMs: migrationTimeoutMs });
  const others = openConnections(driver, pooled, { max: connections });
  if (directUrl !== undefined) await checkSame(driver, settings, others);
  const writing = openConnections(driver, pooled, { max: maxUnderWay, commits: true });
  const partitions = new Partitions(others);
  await partitions.extend();
  const time = clock === undefined ? null : await givenTime(others, clock);
  const id = random.id();
  const wakeUps = new WakeUps({ driver, settings, clock: clock ?? systemClock, log, own: id });
  const announcer = new Announcer(others, id);
  const givenNow = (): number | null => time?.now() ?? null;
  const locked = new LockedJobs(others);
  const parts = { writing, others, partitions, announcer, locked, givenNow, id, wakeUps };
  return new OpenPostgresStore(parts);
}

/** As a store that serves one instance counts it: from the last instant that was stored. */
async function givenTime(connections: Connections, clock: Clock): Promise<StoreTime> {
  return new StoreTime(clock, await new Reads(connections).now(0));
}

/**
 * Brings the schema up to date.
 * @returns what was applied now.
 */
async function prepare(driver: Driver, settings: DriverSettings): Promise<Migration[]> {
  const { schema } = settings;
  return withClient(driver, settings, (client) =>
    migrate(client, schema, { admit: (isBreaking) => admit(client, schema, isBreaking) }),
  );
}

/** Both URLs lead to one database: listening and migrating elsewhere would go unnoticed. */
async function checkSame(
  driver: Driver,
  settings: DriverSettings,
  pooled: Connections,
): Promise<void> {
  const direct = await withClient(driver, settings, async (client) => {
    const { rows } = await client.query<{ place: string }>(statementText('same-place'));
    return rows[0]?.place;
  });
  const [through] = await pooled.read<{ place: string }>('same-place');
  if (through?.place === direct) return;
  await pooled.close();
  const message = 'both URLs of the store have to lead to the same database; these lead to two';
  throw new CapatazError('CONFIG_INVALID', message);
}

async function withClient<T>(
  driver: Driver,
  settings: DriverSettings,
  work: (client: ClientBase) => Promise<T>,
): Promise<T> {
  const client = new driver.Client(clientConfig(driver, settings));
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    if (isPoolersRefusal(error)) throw new CapatazError('CONFIG_INVALID', behindPooler);
    const why = outage(error);
    throw why === null ? error : unavailable(why, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The same without opening it: what is pending, and with `apply` applied. Errors as there. */
export async function migratePostgresStore(text: string, apply: boolean): Promise<Migration[]> {
  const settings = { ...placeOf(text), ...defaultTimeouts };
  const driver = await installedDriver();
  if (apply) return prepare(driver, settings);
  return withClient(driver, settings, async (client) =>
    pendingOf(await appliedIn(client, settings.schema), readMigrations()),
  );
}

/** @throws CapatazError STORE_UNAVAILABLE */
export async function installedDriver(): Promise<Driver> {
  const driver = await loadDriver();
  if (driver !== null) return driver;
  const message = 'The PostgreSQL store needs the package pg: npm install pg';
  throw new CapatazError('STORE_UNAVAILABLE', message);
}

/** @throws CapatazError CONFIG_INVALID */
export function placeOf(url: string): Place & { readonly name: string } {
  const place = readPlace(url, 'capataz');
  if ('problem' in place)
    throw new CapatazError('CONFIG_INVALID', `the URL of the store ${place.problem}`);
  return { ...place, name: `capataz ${place.schema}` };
}
