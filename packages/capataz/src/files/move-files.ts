import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { CapatazError } from '../protocol/errors.ts';
import { syncFolder, systemCode } from './local-folders.ts';

/** Files that were copied and found to be the same, and their bytes. */
export interface MovedFiles {
  readonly files: number;
  readonly bytes: number;
}

/** What is carried of a folder of LocalFiles; the rest of it is thrown away at every start. */
const jobsFolder = 'jobs';
const keyFile = 'link.key';

/** Whether a folder of LocalFiles holds files of jobs. */
export async function holdsFiles(folder: string): Promise<boolean> {
  for await (const _ of below(join(folder, jobsFolder), '')) return true;
  return false;
}

/**
 * Copies the files of jobs from one folder of LocalFiles to another, durably, and compares what the
 * copies give back. What lies there under the same names is replaced. Nobody may use either meanwhile.
 * @throws CapatazError FILES_UNAVAILABLE
 */
export async function moveFiles(from: string, to: string): Promise<MovedFiles> {
  let files = 0;
  let bytes = 0;
  await mkdir(to, { recursive: true, mode: 0o700 });
  for await (const name of below(from, '', isCarried)) {
    bytes += await copyFile(join(from, name), join(to, name));
    files += 1;
  }
  return { files, bytes };
}

function isCarried(name: string): boolean {
  return name === jobsFolder || name === keyFile;
}

/** Links and devices are none of ours. */
async function* below(
  folder: string,
  prefix: string,
  isWanted: (name: string) => boolean = () => true,
): AsyncGenerator<string> {
  try {
    // One by one: there may be as many folders as there are jobs.
    for await (const entry of await opendir(folder)) {
      if (!isWanted(entry.name)) continue;
      const name = join(prefix, entry.name);
      if (entry.isDirectory()) yield* below(join(folder, entry.name), name);
      else if (entry.isFile()) yield name;
    }
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

/** @returns its bytes. */
async function copyFile(from: string, to: string): Promise<number> {
  const folder = join(to, '..');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const hash = createHash('sha256');
  const target = await open(to, 'w', 0o600);
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(from) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      await target.writeFile(chunk);
      bytes += chunk.length;
    }
    await target.sync();
  } finally {
    await target.close();
  }
  await syncFolder(folder);
  if ((await hashOf(to)) === hash.digest('hex')) return bytes;
  throw new CapatazError('FILES_UNAVAILABLE', `${to} is not what was written from ${from}`);
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}
