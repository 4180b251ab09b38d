import type pg from 'pg';
import type { ClientConfig, CustomTypesConfig } from 'pg';

export interface DriverSettings {
  readonly url: string;
  /** Shown by the server for its connections. */
  readonly name: string;
  readonly schema: string;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  /** Further parameters of the server. */
  readonly parameters?: ServerParameters;
  /**
   * It goes through a pooler that lends a connection for one transaction: parameters come with each
   * transaction then, see `parametersOf`. Default false.
   */
  readonly isPooled?: boolean;
}

export type ServerParameters = Readonly<Record<string, string>>;

/** A statement may wait this long for a row or a name that another instance's commit has locked. */
const lockTimeoutMs = 8_000;
/** The server ends a transaction whose instance says nothing: it would hold its locks for ever. */
const idleInTransactionMs = 20_000;
/** Over what the server itself allows, for a network that swallows everything. */
const silenceMarginMs = 5_000;
const keepAliveDelayMs = 10_000;

/**
 * Every hot statement goes by an index, in its order. The planner finds that out only once it knows the
 * tables, and a queue that grew from nothing to 20,000 within a minute cost 98 ms a claim until then.
 * Compiling a statement, and starting others to help with it, costs more than any of ours takes.
 */
const planning: ServerParameters = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
};

/** Codes of the server's int8 and numeric. Our numbers stay below 2^53. */
const numberTypes: ReadonlySet<number> = new Set([20, 1700]);

export type Driver = Pick<typeof pg, 'Client' | 'Pool' | 'types'>;

/** Only who uses PostgreSQL needs the driver. @returns null where the package is not installed. */
export async function loadDriver(): Promise<Driver | null> {
  try {
    return (await import('pg')).default;
  } catch {
    return null;
  }
}

/** With limits on everything that could wait for ever. */
export function parametersOf({
  schema,
  statementTimeoutMs,
  parameters = {},
}: DriverSettings): ServerParameters {
  return {
    search_path: `${schema},public`,
    statement_timeout: String(statementTimeoutMs),
    lock_timeout: String(lockTimeoutMs),
    idle_in_transaction_session_timeout: String(idleInTransactionMs),
    ...planning,
    ...parameters,
  };
}

export function clientConfig(driver: Driver, settings: DriverSettings): ClientConfig {
  const { url, name, connectTimeoutMs, statementTimeoutMs, isPooled = false } = settings;
  const parameters = Object.entries(parametersOf(settings));
  const options = parameters.map(([key, value]) => `-c ${key}=${value}`).join(' ');
  const getTypeParser = ((type: number, format: 'text' | 'binary') =>
    numberTypes.has(type)
      ? Number
      : driver.types.getTypeParser(type, format)) as CustomTypesConfig['getTypeParser'];
  return {
    connectionString: url,
    pipeline: true,
    application_name: name,
    ...(isPooled ? {} : { options }),
    types: { getTypeParser },
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs + silenceMarginMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
  };
}
