import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes a folder that agents or tests have written. They may have taken from its folders the right
 * to be read or changed, which stops who is not root; its owner can give it back.
 */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    openFolders(path);
    rmSync(path, { recursive: true, force: true });
  }
}

/** Follows no link. */
function openFolders(path: string): void {
  if (!lstatSync(path).isDirectory()) return;
  chmodSync(path, 0o700);
  for (const name of readdirSync(path)) openFolders(join(path, name));
}
