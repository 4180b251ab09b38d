import type { Pool } from 'pg';
import { clientConfig, type Driver, type DriverSettings } from '../../postgres/driver.ts';
import { enter } from './occupancy.ts';

const idleConnectionMs = 60_000;

/**
 * A commit names all rows that it wants, so that each statement looks them up one by one, and its plan is
 * made once. A merge over a whole index of 8,000 tasks took 36 ms, and plans a fifth of the server's CPU.
 */
const committing = [
  '-c enable_hashjoin=off',
  '-c enable_mergejoin=off',
  '-c plan_cache_mode=force_generic_plan',
];

export function openPool(
  driver: Driver,
  settings: DriverSettings,
  { max, commits = false }: { readonly max: number; readonly commits?: boolean },
): Pool {
  const pool = new driver.Pool({
    ...clientConfig(driver, { ...settings, parameters: commits ? committing : [] }),
    max,
    idleTimeoutMillis: idleConnectionMs,
    allowExitOnIdle: true,
    onConnect: (client) => enter(client, settings.schema),
  });
  // An idle connection that breaks is replaced by the next one; whoever uses one hears of it there.
  pool.on('error', () => undefined);
  return pool;
}
