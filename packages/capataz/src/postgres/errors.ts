/** Classes and codes of SQLSTATE that are the server's or the network's trouble, none of them ours. */
const outages: Readonly<Record<string, string>> = {
  '08': 'the connection failed',
  '25P03': 'the connection was idle in a transaction for too long',
  '25006': 'the database is read-only',
  '28': 'the server refused the user or the password',
  '3D': 'there is no such database',
  '3F': 'its schema is not there',
  '42P01': 'its tables are not there, as after a DROP or in the middle of a restore',
  '42883': 'its functions are not there, as after a DROP or in the middle of a restore',
  '42501': 'the user lacks a right',
  '53': 'the server has no room left',
  '55P03': 'a lock was not free in time',
  '57014': 'a statement took too long',
  '57P': 'the server stops, or does not accept anybody yet',
  '58': 'the server has trouble with its system',
  CP001: 'it was moved to another place',
  XX001: 'the database is damaged',
  XX002: 'the database is damaged',
};

/** What the server said; null where no server answered. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  // Node's own codes, as EPIPE, may look like one; only the server's errors have a severity.
  const isOfServer = 'severity' in error && typeof error.code === 'string';
  return isOfServer && /^[0-9A-Z]{5}$/.test(String(error.code)) ? String(error.code) : null;
}

/** A pooler takes none of the parameters that a connection of ours begins with. */
export function isPoolersRefusal(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/.test(error.message);
}

/** What was needed was locked by another for as long as is waited. */
export function isLocked(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/** Whether the connection is of no use any more. */
export function isLost(error: unknown): boolean {
  const state = sqlState(error);
  return state === null ? isNetworkError(error) : /^(?:08|57P|25P03)/.test(state);
}

/** The driver has no class for its own errors: these are the texts of what it throws. */
const driverTexts =
  /^(?:Connection terminated|Client has encountered a connection error|timeout e(?:xceeded|xpired)|Query read timeout|Client was closed|Cannot use a pool after|The server does not support SSL|The client is closed|Client has already been)/;

function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isNetworkError);
  // Node's own, as ECONNREFUSED.
  if ('code' in error && typeof error.code === 'string' && /^E[A-Z_]+$/.test(error.code))
    return !error.code.startsWith('ERR_');
  return driverTexts.test(error.message);
}

/** @returns why the database can't work at present, or null where the error is a bug. */
export function outage(error: unknown): string | null {
  const state = sqlState(error);
  if (state === null) return isNetworkError(error) ? 'the server can not be reached' : null;
  for (const length of [5, 3, 2]) {
    const why = outages[state.slice(0, length)];
    if (why !== undefined) return why;
  }
  return null;
}
