import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { Ended } from '../performer/command.ts';
import { removeTree } from '../performer/remove-tree.ts';
import type { SetUp } from './test-plan.ts';

/** Runs a command behind the walls, in a folder that is made over to it first. */
export type RunWalled = (
  command: readonly [string, ...string[]],
  folder: string,
  walls: { readonly hasNetwork: boolean; readonly readOnlyPaths: readonly string[] },
) => Promise<Ended>;

const unfinished = '.unfinished';

/**
 * Brings what a set-up makes into a clone. It is made in a folder of its own, from the named files and
 * nothing else, and kept under their hash: so a change that leaves them alone is set up at once, and
 * none can slip anything into what later ones are tested with.
 * @returns how the set-up ended, where it did not end well; else null
 */
export async function setUp(
  { command, files, hasNetwork }: SetUp,
  place: { readonly setUps: string; readonly clone: string; readonly runId: string },
  run: RunWalled,
): Promise<Ended | null> {
  const found = files.flatMap((name) => regularFile(place.clone, name) ?? []);
  const kept = join(place.setUps, keyOf(command, found));
  if (!existsSync(kept)) {
    const folder = `${kept}.${place.runId}${unfinished}`;
    try {
      mkdirSync(folder, { recursive: true });
      for (const { name, path } of found) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        copyFileSync(path, join(folder, name));
      }
      const ended = await run(command, folder, { hasNetwork, readOnlyPaths: [] });
      if (!endedWell(ended)) return ended;
      if (!existsSync(kept)) renameSync(folder, kept);
    } finally {
      removeTree(folder);
    }
  }
  const now = new Date();
  utimesSync(kept, now, now);
  // By the user of the tests, who can follow no link to anywhere that matters; what the clone has stays.
  const copy = ['cp', '-a', '-n', '--', `${kept}/.`, '.'] as const;
  const ended = await run(copy, place.clone, { hasNetwork: false, readOnlyPaths: [kept] });
  return endedWell(ended) ? null : ended;
}

/** What was cut off, and what nobody has used since. */
export function removeOldSetUps(setUps: string, before: number): void {
  mkdirSync(setUps, { recursive: true, mode: 0o711 });
  for (const name of readdirSync(setUps)) {
    const path = join(setUps, name);
    if (!name.endsWith(unfinished) && statSync(path).mtimeMs >= before) continue;
    removeTree(path);
  }
}

interface Found {
  readonly name: string;
  readonly path: string;
}

/** A link that leads out of the clone would bring a file of the machine behind the walls. */
function regularFile(clone: string, name: string): Found | null {
  try {
    const path = realpathSync(join(clone, name));
    const isInside = path.startsWith(`${realpathSync(clone)}${sep}`);
    return isInside && statSync(path).isFile() ? { name, path } : null;
  } catch {
    return null;
  }
}

function keyOf(command: readonly string[], found: readonly Found[]): string {
  const contents = found.map(({ name, path }) => [name, hashOf(readFileSync(path))]);
  return hashOf(JSON.stringify([command, contents])).slice(0, 32);
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function endedWell(ended: Ended): boolean {
  return ended.how === 'exited' && ended.code === 0;
}
