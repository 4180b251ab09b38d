import { existsSync, type FSWatcher, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../std/clock.ts';

export interface Watched {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/** Editors write a file in several steps; they count as one change. */
const quietMs = 100;

/**
 * Resolves with a name when a module in one of these folders changes, or one of these files, once
 * things have gone quiet. Subfolders count, except in a folder with dependencies, which are too many
 * to watch.
 */
export function nextChange(
  { folders, files }: Watched,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let cancel = (): void => {};
  const onChange = (name: string): void => {
    cancel();
    cancel = clock.after(quietMs, () => resolve(name));
  };
  const onModule = (_event: string, name: string | null): void => {
    if (name !== null && /\.(?:[cm]?[jt]s|json)$/.test(name)) onChange(name);
  };
  const watchers: FSWatcher[] = folders.map((folder) =>
    watch(folder, { recursive: !existsSync(join(folder, 'node_modules')) }, onModule),
  );
  for (const file of files) {
    // Its folder, because editors put another file in its place.
    const watcher = watch(dirname(file), (_event, name) => {
      if (name === basename(file)) onChange(name);
    });
    watchers.push(watcher);
  }
  const close = (): void => {
    cancel();
    for (const watcher of watchers) watcher.close();
  };
  signal.addEventListener('abort', close, { once: true });
  return promise.finally(close);
}
