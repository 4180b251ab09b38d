import {
  clientConfig,
  type Driver,
  type DriverSettings,
  loadDriver,
} from '../../postgres/driver.ts';
import { outage } from '../../postgres/errors.ts';
import { type Place, readPlace } from '../../postgres/place.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { type Clock, systemClock } from '../../std/clock.ts';
import { type Random, systemRandom } from '../../std/random.ts';
import type { Store } from '../contract.ts';
import { unavailable } from '../refusals.ts';
import { StoreTime } from '../store-time.ts';
import { Connections } from './connections.ts';
import { migrate } from './migrate.ts';
import { openPool } from './pool.ts';
import { Reads } from './reads.ts';
import { OpenPostgresStore } from './store.ts';
import { WakeUps } from './wake-ups.ts';

export interface PostgresStoreOptions {
  /**
   * `postgres://user:password@host:port/database`. The tables lie in the schema that `?schema=` names,
   * by default `capataz`; it is made if it is not there.
   */
  readonly url: string;
  /** Connections besides the one that commits. Default 4. */
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
}

/** A migration may have a large table to change. */
const migrationTimeoutMs = 3_600_000;

/**
 * Opens a store that several instances share.
 * @throws CapatazError STORE_NEWER, STORE_UNAVAILABLE
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { connections = 4, clock } = options;
  const { connectTimeoutMs = 5_000, statementTimeoutMs = 10_000, random = systemRandom } = options;
  const { url, schema } = placeOf(options.url);
  const name = `capataz ${schema}`;
  const settings = { url, name, schema, connectTimeoutMs, statementTimeoutMs };
  const driver = await installedDriver();
  await prepare(driver, { ...settings, statementTimeoutMs: migrationTimeoutMs });
  const others = new Connections(openPool(driver, settings, connections));
  const writing = new Connections(openPool(driver, settings, 1));
  const time = clock === undefined ? null : await givenTime(others, clock);
  const id = random.id();
  const wakeUps = new WakeUps({ driver, settings, clock: clock ?? systemClock, own: id });
  const givenNow = (): number | null => time?.now() ?? null;
  return new OpenPostgresStore({ writing, others, givenNow, id, wakeUps });
}

/** As a store that serves one instance counts it: from the last instant that was stored. */
async function givenTime(connections: Connections, clock: Clock): Promise<StoreTime> {
  return new StoreTime(clock, await new Reads(connections).now(0));
}

async function prepare(driver: Driver, settings: DriverSettings): Promise<void> {
  const client = new driver.Client(clientConfig(driver, settings));
  client.on('error', () => undefined);
  try {
    await client.connect();
    await migrate(client, settings.schema);
  } catch (error) {
    const why = outage(error);
    throw why === null ? error : unavailable(why, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function installedDriver(): Promise<Driver> {
  const driver = await loadDriver();
  if (driver !== null) return driver;
  const message = 'The PostgreSQL store needs the package pg: npm install pg';
  throw new CapatazError('STORE_UNAVAILABLE', message);
}

function placeOf(url: string): Place {
  const place = readPlace(url, 'capataz');
  if ('problem' in place)
    throw new CapatazError('CONFIG_INVALID', `the URL of the store ${place.problem}`);
  return place;
}
