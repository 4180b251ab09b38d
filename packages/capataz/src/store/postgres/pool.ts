import type { Pool } from 'pg';
import { clientConfig, type Driver, type DriverSettings } from '../../postgres/driver.ts';
import { enter } from './occupancy.ts';

const idleConnectionMs = 60_000;

export function openPool(driver: Driver, settings: DriverSettings, max: number): Pool {
  const pool = new driver.Pool({
    ...clientConfig(driver, settings),
    max,
    idleTimeoutMillis: idleConnectionMs,
    allowExitOnIdle: true,
    onConnect: (client) => enter(client, settings.schema),
  });
  // An idle connection that breaks is replaced by the next one; whoever uses one hears of it there.
  pool.on('error', () => undefined);
  return pool;
}
