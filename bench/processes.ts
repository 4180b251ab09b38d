import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Client, createClient } from 'capataz/client';
import type { Setup } from './setup.ts';
import { StorePlace } from './store-place.ts';

const capataz = fileURLToPath(new URL('../packages/capataz/bin/capataz.mjs', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const quiet = ['--log-level', 'error'];
/** Linux counts CPU time in hundredths of a second. */
const ticksPerSecond = 100;

/** Servers of its own on a fresh store, and workers in processes of their own. */
export class Bench {
  readonly dataDir: string;
  readonly #place: StorePlace;
  readonly #children = new Set<ChildProcess>();
  #server: ChildProcess | null = null;
  readonly #urls: string[] = [];

  private constructor(dataDir: string, place: StorePlace) {
    this.dataDir = dataDir;
    this.#place = place;
  }

  static async start({ store, instances }: Setup): Promise<Bench> {
    const dataDir = await mkdtemp(join(tmpdir(), 'capataz-bench-'));
    const place = await StorePlace.make(store);
    const bench = new Bench(dataDir, place);
    for (let index = 0; index < instances; index += 1) await bench.#startServer(index, 0);
    return bench;
  }

  get client(): Client {
    return createClient({ url: this.url });
  }

  /** Of the first server. */
  get url(): string {
    return this.#urls[0] ?? '';
  }

  /** Does statements on the store, past the servers. */
  get place(): StorePlace {
    return this.#place;
  }

  /** The first one anew, where it was. */
  async startServer(): Promise<void> {
    await this.#startServer(0, Number(new URL(this.url).port));
  }

  async #startServer(index: number, port: number): Promise<void> {
    const child = this.#spawn('serve', [
      ...['--port', String(port), '--data-dir', join(this.dataDir, `data-${index}`)],
      ...['--blueprints', join(here, 'blueprints')],
      ...this.#place.flags,
    ]);
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /^listening on (\S+)$/.exec(line)?.[1];
      if (url === undefined) continue;
      this.#urls[index] = url;
      if (index === 0) this.#server = child;
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

  /** One for each server, which share the concurrency. */
  startWorkers(concurrency: number): void {
    const each = String(Math.ceil(concurrency / this.#urls.length));
    for (const [index, url] of this.#urls.entries()) this.#startWorker(url, `bench-${index}`, each);
  }

  startWorker(concurrency: number): ChildProcess {
    return this.#startWorker(this.url, 'bench', String(concurrency));
  }

  #startWorker(url: string, id: string, concurrency: string): ChildProcess {
    const who = ['--url', url, '--id', id, '--concurrency', concurrency];
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
    await this.#place.remove();
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
