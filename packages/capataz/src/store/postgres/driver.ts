import type pg from 'pg';
import type { ClientConfig, CustomTypesConfig, Pool } from 'pg';
import { CapatazError } from '../../protocol/errors.ts';

export interface DriverSettings {
  readonly url: string;
  readonly schema: string;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

/** A statement may wait this long for a row or a name that another instance's commit has locked. */
const lockTimeoutMs = 10_000;
/** The server ends a transaction whose instance says nothing: it would hold its locks for ever. */
const idleInTransactionMs = 20_000;
/** Over what the server itself allows, for a network that swallows everything. */
const silenceMarginMs = 5_000;
const idleConnectionMs = 60_000;
const keepAliveDelayMs = 10_000;

/**
 * Every hot statement goes by an index, in its order. The planner finds that out only once it knows the
 * tables, and a queue that grew from nothing to 20,000 within a minute cost 98 ms a claim until then.
 * Compiling a statement, and starting others to help with it, costs more than any of ours takes.
 */
const planning = [
  '-c enable_seqscan=off',
  '-c enable_bitmapscan=off',
  '-c max_parallel_workers_per_gather=0',
  '-c jit=off',
];

/**
 * A commit names all rows that it wants, so that each statement looks them up one by one, and its plan is
 * made once: planned anew it took as long as it ran, and a merge over a whole index of 8,000 tasks 36 ms.
 */
const committing = [
  '-c enable_hashjoin=off',
  '-c enable_mergejoin=off',
  '-c plan_cache_mode=force_generic_plan',
];

/** Codes of the server's int8 and numeric. Our numbers stay below 2^53. */
const numberTypes: ReadonlySet<number> = new Set([20, 1700]);

export type Driver = Pick<typeof pg, 'Client' | 'Pool' | 'types'>;

/** @throws CapatazError STORE_UNAVAILABLE where the package is not installed. */
export async function loadDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    const message = 'The PostgreSQL store needs the package pg: npm install pg';
    throw new CapatazError('STORE_UNAVAILABLE', message, undefined, cause);
  }
}

/** Connections with limits on everything that could wait for ever. */
export function openPool(
  driver: Driver,
  settings: DriverSettings,
  { max, commits = false }: { readonly max: number; readonly commits?: boolean },
): Pool {
  const pool = new driver.Pool({
    ...clientConfig(driver, settings, commits ? committing : []),
    max,
    idleTimeoutMillis: idleConnectionMs,
    allowExitOnIdle: true,
  });
  // An idle connection that breaks is replaced by the next one; whoever uses one hears of it there.
  pool.on('error', () => undefined);
  return pool;
}

export function clientConfig(
  driver: Driver,
  settings: DriverSettings,
  more: readonly string[] = [],
): ClientConfig {
  const { url, schema, connectTimeoutMs, statementTimeoutMs } = settings;
  const getTypeParser = ((type: number, format: 'text' | 'binary') =>
    numberTypes.has(type)
      ? Number
      : driver.types.getTypeParser(type, format)) as CustomTypesConfig['getTypeParser'];
  return {
    connectionString: url,
    pipeline: true,
    application_name: `capataz ${schema}`,
    options: [`-c search_path=${schema},public`, ...planning, ...more].join(' '),
    types: { getTypeParser },
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + silenceMarginMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
  };
}
