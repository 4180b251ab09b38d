import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/settings.ts';
import type { FilesOptions } from '../files/contract.ts';
import type { LinkKey } from '../files/links.ts';
import { LocalFiles, linkKeyIn } from '../files/local-files.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';

interface FilesParts {
  readonly config: Config;
  /** Of this server among those that share the store. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The files of jobs, beside the store. The lock of an embedded one keeps other processes from this folder,
 * too; where servers share both, each has a scratch folder of its own.
 */
export function localFiles({ config, instance, ...parts }: FilesParts): {
  readonly files: FilesOptions;
  readonly linkKey: LinkKey;
} {
  const folder = join(config.dataDir, 'files');
  const isShared = config.storeUrl !== null;
  const scratch = isShared ? join(instancesIn(folder), encodeURIComponent(instance)) : folder;
  const linkKey = linkKeyIn(folder, parts.random);
  const { filesMaxSize, filesMaxTransfers, filesKeep } = config;
  const options = { ...parts, linkKey, folder, scratch, maxTransfers: filesMaxTransfers };
  const store = new LocalFiles(options);
  const workFolder = join(scratch, 'work');
  return { files: { store, maxBytes: filesMaxSize, keep: filesKeep, workFolder }, linkKey };
}

function instancesIn(folder: string): string {
  return join(folder, 'instances');
}

/** No upload takes that long, so whose scratch folder rests for a day is gone. */
const restsForMs = 24 * 3_600_000;

/** Removes the scratch folders of servers that are gone, whose names may never come back. */
export async function sweepScratch(config: Config, now: number): Promise<void> {
  const instances = instancesIn(join(config.dataDir, 'files'));
  for (const name of await readdir(instances).catch(() => [])) {
    const scratch = join(instances, name);
    const parts = await readdir(scratch).catch(() => []);
    const changes = await Promise.all(
      ['.', ...parts].map((part) => stat(join(scratch, part)).catch(() => null)),
    );
    const last = Math.max(...changes.map((found) => found?.mtimeMs ?? now));
    if (now - last > restsForMs) await rm(scratch, { recursive: true, force: true });
  }
}
