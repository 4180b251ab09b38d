import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Programs ask who they are and where `localhost` is, and some don't start without an answer. They
 * get this one instead of the machine's, which tells of its users and its neighbours.
 */
const files = {
  passwd: 'sandbox:x:1000:1000:sandbox:/tmp:/bin/sh\n',
  group: 'sandbox:x:1000:\n',
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
} as const;

export const etcNames = Object.keys(files);

/** @returns the folder, which those behind the walls must be able to read */
export function writeEtc(parent: string): string {
  const folder = join(parent, 'etc');
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text, { mode: 0o644 });
  }
  return folder;
}
