import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Where a store lies: a folder with our own names in it, or a database file of any name. */
export type StorePlace = { readonly folder: string } | { readonly file: string };

export interface StorePaths {
  readonly database: string;
  readonly lock: string;
  readonly holder: string;
}

export function storePaths(place: StorePlace): StorePaths {
  if ('folder' in place) {
    const path = (name: string): string => resolve(join(place.folder, name));
    return {
      database: path('capataz.db'),
      lock: path('capataz.lock'),
      holder: path('capataz.json'),
    };
  }
  const database = resolve(place.file);
  return { database, lock: `${database}.lock`, holder: `${database}.json` };
}

export function createFolder(paths: StorePaths): void {
  mkdirSync(dirname(paths.database), { recursive: true });
}
