import { resolve } from 'node:path';
import type { Clock } from '../std/clock.ts';
import type { Chest } from '../store/chest.ts';
import { openPostgresChest } from '../store/postgres/chest.ts';
import { openSqliteChest } from '../store/sqlite/chest.ts';
import { UsageError } from './exit.ts';

/** A store as it is named on a command line. */
export type StorePlace =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string };

/**
 * A data folder (also as `sqlite:folder`), or `postgres://user:password@host:port/database?schema=name`.
 * @throws UsageError
 */
export function storePlace(text: string, flag: string, directory: string): StorePlace {
  if (!/^postgres(?:ql)?:/.test(text)) {
    const folder = text.replace(/^sqlite:(?:\/\/)?/, '');
    if (folder === '' || /^[a-z]{2,}:/i.test(folder))
      throw new UsageError(`${flag} names a data folder or a postgres:// URL, not "${text}"`);
    return { kind: 'folder', folder: resolve(directory, folder) };
  }
  // It may hold a password.
  if (!URL.canParse(text)) throw new UsageError(`${flag} is no URL that can be read`);
  const url = new URL(text);
  const schema = url.searchParams.get('schema') ?? 'capataz';
  url.searchParams.delete('schema');
  return { kind: 'postgres', url: url.href, schema };
}

export async function openChest(place: StorePlace, clock: Clock): Promise<Chest> {
  return place.kind === 'folder'
    ? openSqliteChest(place.folder, clock)
    : openPostgresChest({ url: place.url, schema: place.schema, clock });
}
