import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';

export interface FoundFiles {
  /** Paths relative to the folder, sorted. */
  readonly files: readonly string[];
  /** Folders that were not entered, with the reason. */
  readonly leftOut: readonly { readonly folder: string; readonly reason: string }[];
}

const notEntered: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/** Every file below a folder. What is not entered is named: nothing is skipped in silence. */
export async function findFiles(root: string): Promise<FoundFiles> {
  const files: string[] = [];
  const leftOut: { folder: string; reason: string }[] = [];
  const open = [root];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const name = relative(root, folder) || '.';
    let entries: Awaited<ReturnType<typeof readEntries>>;
    try {
      entries = await readEntries(folder);
    } catch (error) {
      if (folder === root) throw error;
      leftOut.push({ folder: name, reason: (error as Error).message });
      continue;
    }
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) files.push(relative(root, path));
      else if (notEntered.has(entry.name)) {
        leftOut.push({ folder: relative(root, path), reason: 'not part of what people wrote' });
      } else open.push(path);
    }
  }
  return { files: files.sort(), leftOut };
}

function readEntries(folder: string) {
  return readdir(folder, { withFileTypes: true });
}
