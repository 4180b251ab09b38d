import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** A program of this repository that a test has started, in a folder of its own. */
export class Program implements AsyncDisposable {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly #exited: Promise<number>;
  #onText: () => void = () => {};

  /** @param path relative to the repository */
  constructor(path: string, args: readonly string[], directory: string) {
    const node = ['--conditions=capataz-source', '--disable-warning=ExperimentalWarning'];
    this.child = spawn(process.execPath, [...node, `${repository}${path}`, ...args], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#onText();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#onText();
    });
    this.#exited = once(this.child, 'close').then(([code]) => Number(code ?? -1));
    void this.#exited.then(() => this.#onText());
  }

  /** Resolves with the first match in what it wrote to standard output; fails when it ends before. */
  async says(pattern: RegExp): Promise<string> {
    for (;;) {
      const match = this.stdout.match(pattern);
      if (match !== null) return match[1] ?? match[0];
      assert.equal(this.child.exitCode, null, `it ended: ${this.stdout}${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#onText = resolve;
      });
    }
  }

  ended(): Promise<number> {
    return this.#exited;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    this.child.kill(signal);
    return this.ended();
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
