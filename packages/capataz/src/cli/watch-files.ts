import { existsSync, type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../std/clock.ts';

/** Editors write a file in several steps; they count as one change. */
const quietMs = 100;

/**
 * Resolves with a name when a file in one of these folders changes, once things have gone quiet.
 * Subfolders count, except in a folder with dependencies, which are too many to watch.
 */
export function nextChange(
  folders: readonly string[],
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let cancel = (): void => {};
  const onChange = (_event: string, name: string | null): void => {
    if (name === null || !/\.(?:[cm]?[jt]s|json)$/.test(name)) return;
    cancel();
    cancel = clock.after(quietMs, () => resolve(name));
  };
  const watchers: FSWatcher[] = folders.map((folder) =>
    watch(folder, { recursive: !existsSync(join(folder, 'node_modules')) }, onChange),
  );
  const close = (): void => {
    cancel();
    for (const watcher of watchers) watcher.close();
  };
  signal.addEventListener('abort', close, { once: true });
  return promise.finally(close);
}
