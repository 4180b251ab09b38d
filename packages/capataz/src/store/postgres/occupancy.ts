import type { ClientBase } from 'pg';
import { appliedIn } from '../../postgres/migrate.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { type Clock, delay, systemClock } from '../../std/clock.ts';
import { pendingOf } from '../migrations.ts';
import { type MoveRow, refuseMarked } from '../move-marks.ts';
import { readMigrations } from './migrate.ts';

/**
 * Every connection that works on a store holds one lock shared for as long as it lives, and a move
 * holds it alone (S-50). So nobody is on a store that is moved, and no connection that comes later
 * works on what was left behind: it looks for the mark once it has the lock. Migrations that would
 * break older programs hold it alone, too. (Names in pg_stat_activity would tell who is there, but not
 * keep anybody out.)
 *
 * A connection that a pooler lends for one transaction takes it for that transaction, and looks each
 * time (`enter_transaction`).
 *
 * It lies far behind the buckets of `lock_keys`, in the key space of two numbers, which the fence of the
 * history does not look at.
 */
export const occupancy = 8192;
const lock = `hashtext($1), ${occupancy}`;

/** How long a move waits for connections whose process has just ended, and how often it looks. */
const patienceMs = 2_000;
const lookEveryMs = 100;

/**
 * To be called by every connection, before it works on the store.
 * @throws CapatazError STORE_IN_USE, STORE_MOVED, STORE_INCOMPLETE, STORE_NEWER
 */
export async function enter(client: ClientBase, schema: string): Promise<void> {
  const text = `SELECT pg_try_advisory_lock_shared(${lock}) AS entered`;
  const { rows } = await client.query<{ entered: boolean }>(text, [schema]);
  if (rows[0]?.entered !== true) {
    throw new CapatazError(
      'STORE_IN_USE',
      `The schema ${schema} is being moved or migrated at present.`,
      { schema, hint: 'Try again when that is done.' },
    );
  }
  await refuseUnfit(client, schema);
}

async function refuseUnfit(client: ClientBase, schema: string): Promise<void> {
  refuseMarked(`The schema ${schema}`, await moveRowIn(client, schema));
  pendingOf(await appliedIn(client, schema), readMigrations());
}

/**
 * Of an instance that starts: it may migrate beside older ones, but not what would break them.
 * @throws CapatazError STORE_IN_USE, STORE_MOVED, STORE_INCOMPLETE
 */
export async function admit(
  client: ClientBase,
  schema: string,
  isBreaking: boolean,
): Promise<void> {
  if (!isBreaking) return enter(client, schema);
  await enterAlone(client, schema, systemClock);
  await refuseUnfit(client, schema);
}

/** @throws CapatazError STORE_IN_USE that says where those come from who are there. */
export async function enterAlone(client: ClientBase, schema: string, clock: Clock): Promise<void> {
  const text = `SELECT pg_try_advisory_lock(${lock}) AS entered`;
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const { rows } = await client.query<{ entered: boolean }>(text, [schema]);
    if (rows[0]?.entered === true) return;
    if (waitedMs >= patienceMs) throw await inUse(client, schema);
    await delay(clock, lookEveryMs);
  }
}

async function inUse(client: ClientBase, schema: string): Promise<CapatazError> {
  const { rows } = await client.query<{ place: string; count: number }>(
    `SELECT coalesce(host(a.client_addr), 'this machine') AS place, count(*) AS count
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid = ${occupancy} AND l.granted
      AND l.classid::bigint = (hashtext($1)::bigint & 4294967295)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    GROUP BY 1 ORDER BY 1`,
    [schema],
  );
  const who = rows.map(({ place, count }) => `${count} from ${place}`).join(', ');
  const message = `The schema ${schema} is in use (connections: ${who}). Stop every server on it first.`;
  const hint = 'Stop the servers that run on it, or use another schema.';
  return new CapatazError('STORE_IN_USE', message, { schema, hint });
}

/** What a move has left written on it; also of a schema that is not there. */
export async function moveRowIn(client: ClientBase, schema: string): Promise<MoveRow | undefined> {
  const table = `${schema}.moves`;
  const found = await client.query<{ is_there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS is_there',
    [table],
  );
  if (found.rows[0]?.is_there !== true) return undefined;
  return (await client.query<MoveRow>(`SELECT state, move, other FROM ${table}`)).rows[0];
}
