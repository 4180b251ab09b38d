import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const repositoryRoot = fileURLToPath(new URL('..', import.meta.url));

export interface Step {
  readonly name: string;
  /** Arguments of Node itself: the tool's own script first, so that no shell and no PATH is involved. */
  readonly nodeArgs: readonly string[];
}

export const biome = 'node_modules/@biomejs/biome/bin/biome';
export const typescript = 'node_modules/typescript/bin/tsc';

/** Runs every step, also after a failure, so that one run shows all that is wrong. */
export function runSteps(steps: readonly Step[]): boolean {
  const failed: string[] = [];
  for (const step of steps) {
    const startedAt = performance.now();
    const { status, error } = spawnSync(process.execPath, step.nodeArgs, {
      cwd: repositoryRoot,
      stdio: 'inherit',
    });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (error !== undefined) console.error(error.message);
    console.log(`${status === 0 ? '✔' : '✖'} ${step.name} (${seconds} s)`);
    if (status !== 0) failed.push(step.name);
  }
  if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`);
  return failed.length === 0;
}
