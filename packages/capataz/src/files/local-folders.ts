import { constants } from 'node:fs';
import { lstat, mkdir, open, opendir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CapatazError } from '../protocol/errors.ts';
import type { ListedFile, Page } from './contract.ts';

/** The code of an error of the system, else ''. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && 'syscall' in error ? String(error.code) : '';
}

export function noSuchFile(name: string): CapatazError {
  return new CapatazError('FILE_NOT_FOUND', 'the job has no such file', { file: name });
}

/**
 * Goes down from `base`, one real folder after the other: what is a symbolic link may lead out.
 * @throws FILE_NAME_INVALID for a link; ENOENT, ENOTDIR
 */
export async function enterFolder(base: string, parts: readonly string[]): Promise<string> {
  let folder = base;
  for (const part of parts) {
    folder = join(folder, part);
    await checkFolder(folder);
  }
  return folder;
}

/** The same, and makes what is missing. @returns also the folders that now have a new entry. */
export async function makeFolder(
  base: string,
  parts: readonly string[],
): Promise<{ folder: string; changed: readonly string[] }> {
  let folder = base;
  const changed: string[] = [];
  for (const part of parts) {
    const parent = folder;
    folder = join(folder, part);
    try {
      await mkdir(folder);
      changed.push(parent);
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      await checkFolder(folder);
    }
  }
  return { folder, changed };
}

async function checkFolder(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (found.isSymbolicLink()) {
    throw new CapatazError('FILE_NAME_INVALID', 'a symbolic link is in the way of this name');
  }
  if (found.isDirectory()) return;
  throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR', syscall: 'lstat' });
}

/** Makes new entries of a folder survive a loss of power. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The files below a folder, ascending by name; whole folders before `after` are not looked into. */
export async function* filesBelow(
  folder: string,
  after: string,
  prefix = '',
): AsyncGenerator<ListedFile> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.flatMap((entry) => {
    if (entry.isDirectory()) return [`${prefix}${entry.name}/`];
    // Links and devices are none of ours.
    return entry.isFile() ? [`${prefix}${entry.name}`] : [];
  });
  for (const path of names.sort()) {
    const isFolder = path.endsWith('/');
    const own = path.slice(prefix.length);
    if (isFolder && !isBehind(path, after)) continue;
    if (isFolder) yield* filesBelow(join(folder, own), after, path);
    else if (path > after) yield await listed(join(folder, own), path);
  }
}

/** Whether a folder can hold names above `after`. */
function isBehind(folderPath: string, after: string): boolean {
  return folderPath > after || after.startsWith(folderPath);
}

async function listed(file: string, path: string): Promise<ListedFile> {
  const { size, mtimeMs } = await lstat(file);
  return { path, size, modifiedAt: Math.floor(mtimeMs) };
}

/** The first names of a folder's folders behind `after`, with memory for two pages, however many there are. */
export async function pageOfFolders(folder: string, { after, limit }: Page): Promise<string[]> {
  let names: string[] = [];
  for await (const entry of await opendir(folder)) {
    if (!entry.isDirectory() || entry.name <= after) continue;
    names.push(entry.name);
    if (names.length >= 2 * limit) names = names.sort().slice(0, limit);
  }
  return names.sort().slice(0, limit);
}
