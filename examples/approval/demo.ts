/** `npm run example:approval`: every line that begins with `$` is a command that you could type. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const program = fileURLToPath(new URL('../../packages/capataz/bin/capataz.mjs', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'capataz-approval-'));
const dataDir = ['-d', join(folder, 'data')];

/** A command whose output is shown as it comes. */
class Shown {
  readonly child: ChildProcess;
  readonly lines: string[] = [];
  readonly #ended: Promise<unknown>;
  #onLine: () => void = () => {};

  constructor(words: readonly string[], place: readonly string[] = dataDir) {
    const args = [...words, ...place];
    console.log(`\n$ capataz ${args.map(quoted).join(' ')}`);
    this.child = spawn(process.execPath, [program, ...args], {
      cwd: here,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#ended = once(this.child, 'close').then(() => this.#onLine());
    const { stdout } = this.child;
    if (stdout === null) throw new Error('the command has no output');
    createInterface({ input: stdout }).on('line', (line) => {
      console.log(line);
      this.lines.push(line);
      this.#onLine();
    });
  }

  /** Resolves with the first line that matches. */
  async says(pattern: RegExp): Promise<string> {
    for (;;) {
      const line = this.lines.find((text) => pattern.test(text));
      if (line !== undefined) return line;
      if (this.child.exitCode !== null) throw new Error(`it ended without a line ${pattern}`);
      await new Promise<void>((resolve) => {
        this.#onLine = resolve;
      });
    }
  }

  async ended(): Promise<readonly string[]> {
    await this.#ended;
    if (this.child.exitCode !== 0) throw new Error(`it ended with ${this.child.exitCode}`);
    return this.lines;
  }
}

function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word}'`;
}

const run = (...words: string[]): Promise<readonly string[]> => new Shown(words).ended();

const server = new Shown(['dev', '--port', '0', '--worker', 'worker.ts']);
try {
  await server.says(/^ {2}access /);
  const input = '{"parts":["server","client","docs"]}';
  const [job = ''] = await run('jobs', 'start', 'release', '--input', input);
  const watch = new Shown(['jobs', 'watch', job]);
  await watch.says(/approval_asked/);
  await run('approvals', 'list');
  // The editor says nothing, and the time is up.
  await watch.says(/editor → chief/);
  await run('approvals', 'show', job);
  await run('why', job);
  await run('approvals', 'approve', job, '--as', 'Ana', '--comment', 'Go');
  await watch.ended();
  await run('jobs', 'show', job);
} finally {
  server.child.kill('SIGTERM');
  await server.ended();
  await rm(folder, { recursive: true, force: true });
}
