import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Balancer } from './balancer.ts';

const capataz = fileURLToPath(new URL('../../packages/capataz/bin/capataz.mjs', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));

export interface ClusterOptions {
  readonly folder: string;
  /** A PostgreSQL that the servers share. Default: one server on SQLite. */
  readonly storeUrl?: string;
  /** Servers behind one address. Default 1. */
  readonly servers?: number;
  /** Default: those beside this file. */
  readonly blueprints?: string;
  /** Further ones of `capataz serve`. */
  readonly arguments?: readonly string[];
  readonly logLevel?: 'info' | 'error';
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
}

/** Servers and workers as real processes, which are killed, stopped and started again by name. */
export class Cluster {
  /** The names of the servers. */
  readonly servers: readonly string[];
  readonly #options: ClusterOptions;
  readonly #processes = new Map<string, ChildProcess>();
  readonly #ports = new Map<string, number>();
  readonly #balancer = new Balancer();

  constructor(options: ClusterOptions) {
    this.#options = options;
    const count = options.servers ?? 1;
    this.servers = Array.from({ length: count }, (_, index) => `server-${index + 1}`);
  }

  /** One address for all servers: whoever comes may find another behind it each time. */
  get url(): string {
    return this.#balancer.url;
  }

  async start(): Promise<void> {
    await this.#balancer.start();
    await Promise.all(this.servers.map((name) => this.startServer(name)));
  }

  /** Of this server alone. */
  urlOf(name: string): string {
    return `http://127.0.0.1:${this.#ports.get(name)}`;
  }

  pidOf(name: string): number | undefined {
    return this.#processes.get(name)?.pid;
  }

  /** What all processes of this name have logged. */
  logOf(name: string): readonly LogLine[] {
    const path = this.#logPath(name);
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').split('\n');
    // The last one may be on its way.
    return lines.slice(0, -1).map((line) => JSON.parse(line) as LogLine);
  }

  isUp(name: string): boolean {
    return this.#processes.has(name);
  }

  /** On the port and the data of the one before. Resolves when it listens, or has died before. */
  async startServer(name: string): Promise<void> {
    const { folder, storeUrl, blueprints = join(here, 'blueprints') } = this.#options;
    const child = this.#spawn(name, [
      'serve',
      ...['--port', String(this.#ports.get(name) ?? 0)],
      ...['--data-dir', join(folder, name)],
      ...['--blueprints', blueprints],
      ...(storeUrl === undefined ? [] : ['--store-url', storeUrl]),
      ...(this.#options.arguments ?? []),
    ]);
    if (child.stdout === null) return;
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /^listening on (\S+)$/.exec(line)?.[1];
      if (url === undefined) continue;
      this.#ports.set(name, Number(new URL(url).port));
      this.#balancer.targets = [...this.#ports.values()];
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
    await this.#balancer.stop();
  }

  #logPath(name: string): string {
    return join(this.#options.folder, `${name}.log`);
  }

  #spawn(name: string, args: readonly string[]): ChildProcess {
    const logging = ['--log-level', this.#options.logLevel ?? 'error', '--log-format', 'json'];
    const log = openSync(this.#logPath(name), 'a');
    const child = spawn(process.execPath, [capataz, ...args, ...logging], {
      stdio: ['ignore', 'pipe', log],
    });
    closeSync(log);
    this.#processes.set(name, child);
    child.once('exit', () => {
      if (this.#processes.get(name) === child) this.#processes.delete(name);
    });
    return child;
  }
}
