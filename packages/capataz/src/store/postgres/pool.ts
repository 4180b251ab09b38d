import {
  clientConfig,
  type Driver,
  type DriverSettings,
  parametersOf,
  type ServerParameters,
} from '../../postgres/driver.ts';
import { Connections } from './connections.ts';
import { enter, occupancy } from './occupancy.ts';
import type { Entrance } from './statements.ts';

const idleConnectionMs = 60_000;

/**
 * What another's commit has locked is free within milliseconds, of a slow disk within tenths of a second.
 * Nothing else is begun while a commit waits: beyond this it goes around what is locked.
 */
const commitLockMs = 1_000;

/**
 * A commit names all rows that it wants, so that each statement looks them up one by one, and its plan is
 * made once. A merge over a whole index of 8,000 tasks took 36 ms, and plans a fifth of the server's CPU.
 */
const committing: ServerParameters = {
  lock_timeout: String(commitLockMs),
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
};

export function openConnections(
  driver: Driver,
  settings: DriverSettings,
  { max, commits = false }: { readonly max: number; readonly commits?: boolean },
): Connections {
  const own = { ...settings, parameters: commits ? committing : {} };
  const pool = new driver.Pool({
    ...clientConfig(driver, own),
    max,
    idleTimeoutMillis: idleConnectionMs,
    allowExitOnIdle: true,
    ...(own.isPooled === true ? {} : { onConnect: (client) => enter(client, own.schema) }),
  });
  // An idle connection that breaks is replaced by the next one; whoever uses one hears of it there.
  pool.on('error', () => undefined);
  return new Connections(pool, own.isPooled === true ? entranceOf(own) : null);
}

/** What a transaction begins with whose connection was lent by a pooler. */
function entranceOf(settings: DriverSettings): Entrance {
  const parameters = Object.entries(parametersOf(settings));
  const values = parameters.flat();
  const configs = parameters.map(
    (_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, true)`,
  );
  const { schema } = settings;
  return {
    text: `SELECT ${configs.join(', ')}, ${schema}.enter_transaction('${schema}', ${occupancy})`,
    values,
  };
}
