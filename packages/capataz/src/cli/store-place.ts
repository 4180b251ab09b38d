import { join, resolve } from 'node:path';
import type { Config } from '../config/settings.ts';
import type { Clock } from '../std/clock.ts';
import type { Chest } from '../store/chest.ts';
import { openPostgresChest } from '../store/postgres/chest.ts';
import { openSqliteChest } from '../store/sqlite/chest.ts';
import { UsageError } from './exit.ts';

/** A store as a command line or the configuration names it. */
export type StorePlace =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly url: string };

/**
 * A data folder (also as `sqlite:folder`), or a URL as `store_url` has it.
 * @throws UsageError
 */
export function storePlace(text: string, flag: string, directory: string): StorePlace {
  if (/^postgres(?:ql)?:/.test(text)) return { kind: 'postgres', url: text };
  const folder = text.replace(/^sqlite:(?:\/\/)?/, '');
  if (folder !== '' && !/^[a-z]{2,}:/i.test(folder))
    return { kind: 'folder', folder: resolve(directory, folder) };
  throw new UsageError(`${flag} names a data folder or a postgres:// URL`);
}

export function configuredPlace({ storeUrl, dataDir }: Config): StorePlace {
  return storeUrl === null
    ? { kind: 'folder', folder: dataDir }
    : { kind: 'postgres', url: storeUrl };
}

/** Where the files of jobs lie: in a data folder, whatever keeps the records. */
export function filesFolder(place: StorePlace, { dataDir }: Config): string {
  return join(place.kind === 'folder' ? place.folder : dataDir, 'files');
}

export async function openChest(place: StorePlace, clock: Clock): Promise<Chest> {
  return place.kind === 'folder'
    ? openSqliteChest(place.folder, clock)
    : openPostgresChest(place.url, clock);
}
