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
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The files of jobs, beside the store, whose lock keeps other processes from this folder, too. */
export function localFiles({ config, ...parts }: FilesParts): {
  readonly files: FilesOptions;
  readonly linkKey: LinkKey;
} {
  const folder = join(config.dataDir, 'files');
  const linkKey = linkKeyIn(folder, parts.random);
  const { filesMaxSize, filesMaxTransfers, filesKeep } = config;
  const store = new LocalFiles({ ...parts, linkKey, folder, maxTransfers: filesMaxTransfers });
  const workFolder = join(folder, 'work');
  return { files: { store, maxBytes: filesMaxSize, keep: filesKeep, workFolder }, linkKey };
}
