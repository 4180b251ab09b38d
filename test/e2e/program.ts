import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { StartedProgram } from '../../packages/capataz/src/cli/fixtures/started-program.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** A program of this repository that a test has started, in a folder of its own. */
export class Program extends StartedProgram implements AsyncDisposable {
  /** @param path relative to the repository */
  constructor(path: string, args: readonly string[], directory: string) {
    super(`${repository}${path}`, args, directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.stop('SIGKILL');
  }
}

/** Runs a program to its end. @returns what it wrote to standard output; fails unless it ended well. */
export async function outputOf(
  path: string,
  args: readonly string[],
  directory: string,
): Promise<string> {
  const program = new Program(path, args, directory);
  assert.equal(await program.ended(), 0, program.stderr);
  return program.stdout;
}
