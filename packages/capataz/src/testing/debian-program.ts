import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { processEnvironment } from '../config/environment.ts';

/**
 * A program of a Debian package, which is installed where it is missing and may be.
 * @param path where the package puts it
 * @throws Error that says what to install. Never a reason to skip.
 */
export function debianProgram(path: string, packageName: string): string {
  if (existsSync(path)) return path;
  if (process.getuid?.() === 0) {
    const env = { ...processEnvironment(), DEBIAN_FRONTEND: 'noninteractive' };
    const options = { env, stdio: 'ignore', timeout: 120_000 } as const;
    spawnSync('apt-get', ['update', '-qq'], options);
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', packageName], options);
    if (existsSync(path)) return path;
  }
  throw new Error(`these tests need ${path}: install it (Debian: apt-get install ${packageName})`);
}
