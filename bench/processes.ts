import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Client, createClient } from 'capataz/client';

const capataz = fileURLToPath(new URL('../packages/capataz/bin/capataz.mjs', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const quiet = ['--log-level', 'error'];
/** Linux counts CPU time in hundredths of a second. */
const ticksPerSecond = 100;

/** A server of its own on a fresh data folder, and workers in processes of their own. */
export class Bench {
  readonly dataDir: string;
  readonly #children = new Set<ChildProcess>();
  #server: ChildProcess | null = null;
  #port = 0;

  private constructor(dataDir: string) {
    this.dataDir = dataDir;
  }

  static async start(): Promise<Bench> {
    const bench = new Bench(await mkdtemp(join(tmpdir(), 'capataz-bench-')));
    await bench.startServer();
    return bench;
  }

  get client(): Client {
    return createClient({ url: this.url });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** On the port of the one before, if there was one. */
  async startServer(): Promise<void> {
    const where = ['--port', String(this.#port), '--data-dir', join(this.dataDir, 'data')];
    const child = this.#spawn('serve', [...where, '--blueprints', join(here, 'blueprints')]);
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /^listening on (\S+)$/.exec(line)?.[1];
      if (url === undefined) continue;
      this.#port = Number(new URL(url).port);
      this.#server = child;
      return;
    }
    throw new Error('the server did not start');
  }

  /** kill -9. */
  async killServer(): Promise<void> {
    if (this.#server === null) return;
    const exit = once(this.#server, 'exit');
    this.#server.kill('SIGKILL');
    await exit;
  }

  startWorker(concurrency: number): ChildProcess {
    const who = ['--url', this.url, '--id', 'bench', '--concurrency', String(concurrency)];
    return this.#spawn('worker', [join(here, 'worker.ts'), ...who]);
  }

  /** CPU seconds of all its processes that live. */
  cpuSeconds(): number {
    let ticks = 0;
    for (const { pid } of this.#children) {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      ticks += Number(fields[11]) + Number(fields[12]);
    }
    return ticks / ticksPerSecond;
  }

  async stop(): Promise<void> {
    // Workers first: they hand back what they hold, and somebody has to take it.
    for (const child of [...this.#children].reverse()) {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    }
    await rm(this.dataDir, { recursive: true, force: true });
  }

  #spawn(command: string, args: readonly string[]) {
    const child = spawn(process.execPath, [capataz, command, ...args, ...quiet], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }
}
