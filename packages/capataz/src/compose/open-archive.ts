import { resolve } from 'node:path';
import type { Config } from '../config/settings.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Clock } from '../std/clock.ts';
import type { Archive } from '../store/contract.ts';
import { PostgresArchive } from '../store/postgres/archive/archive.ts';
import { SqliteArchive } from '../store/sqlite/archive/archive.ts';

/**
 * Where books of ended jobs go, by the configuration; null: they stay in the store. It is opened when it is
 * first needed, so that a server starts without it. The setting is a secret, and not repeated.
 * @throws CapatazError CONFIG_INVALID
 */
export function archiveOf(
  { history, storeUrl }: Pick<Config, 'history' | 'storeUrl'>,
  clock: Clock,
): Archive | 'off' | null {
  if (history === 'on') return null;
  if (history === 'off') return 'off';
  if (/^postgres(?:ql)?:/.test(history)) return new PostgresArchive(history);
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(history)?.[1];
  if (path === undefined) {
    const message = 'history: has to be on, off, sqlite:/path/file.db or postgres://…';
    throw new CapatazError('CONFIG_INVALID', message);
  }
  if (storeUrl !== null) {
    // The file of one server, where the others would look for it in vain.
    const message =
      'history: with store_url it has to be on, off or postgres://…, which all servers reach';
    throw new CapatazError('CONFIG_INVALID', message);
  }
  return new SqliteArchive(resolve(path), clock);
}
