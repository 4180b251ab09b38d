import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const capataz = fileURLToPath(new URL('../../packages/capataz/bin/capataz.mjs', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const quiet = ['--log-level', 'error'];

/** A server and workers as real processes, which are killed, stopped and started again by name. */
export class Cluster {
  readonly #folder: string;
  readonly #processes = new Map<string, ChildProcess>();
  #port = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  isUp(name: string): boolean {
    return this.#processes.has(name);
  }

  /** On the port and the data of the one before. Resolves when it listens, or has died before. */
  async startServer(): Promise<void> {
    const where = ['--port', String(this.#port), '--data-dir', join(this.#folder, 'data')];
    const child = this.#spawn('server', [
      'serve',
      ...where,
      '--blueprints',
      join(here, 'blueprints'),
    ]);
    if (child.stdout === null) return;
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /^listening on (\S+)$/.exec(line)?.[1];
      if (url === undefined) continue;
      this.#port = Number(new URL(url).port);
      return;
    }
  }

  startWorker(name: string): void {
    const who = ['--url', this.url, '--id', name, '--concurrency', '5'];
    this.#spawn(name, ['worker', join(here, 'worker.ts'), ...who]);
  }

  /** Resolves when the process of this name is gone. */
  async ended(name: string): Promise<void> {
    const child = this.#processes.get(name);
    if (child !== undefined) await once(child, 'exit');
  }

  signal(name: string, signal: NodeJS.Signals): void {
    this.#processes.get(name)?.kill(signal);
  }

  async stop(): Promise<void> {
    const children = [...this.#processes.values()];
    for (const child of children) child.kill('SIGCONT');
    await Promise.all(
      children.map(async (child) => {
        const exit = once(child, 'exit');
        child.kill('SIGTERM');
        await exit;
      }),
    );
  }

  #spawn(name: string, args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [capataz, ...args, ...quiet], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#processes.set(name, child);
    child.once('exit', () => {
      if (this.#processes.get(name) === child) this.#processes.delete(name);
    });
    return child;
  }
}
