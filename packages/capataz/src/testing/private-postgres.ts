import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert } from '../std/assert.ts';
import { systemClock } from '../std/clock.ts';
import { freePorts, type TestService, whenUp } from './services.ts';
import { until } from './until.ts';

/** Debian keeps the server's programs out of the way of the shell. */
const binaries = '/usr/lib/postgresql/15/bin';
const stopTimeoutMs = 20_000;

export interface PrivatePostgresOptions {
  /** As in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Where its data lies. Default: a new folder, which goes with `close`. */
  readonly folder?: string;
}

/** A server of a test's own, which may be ended and frozen as it likes: port and data stay the same. */
export class PrivatePostgres implements TestService {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly #folder: string;
  readonly #isOwnFolder: boolean;
  readonly #settings: readonly string[];
  readonly #user = serverUser();
  #server: ChildProcess | null = null;

  private constructor(port: number, { settings = {}, folder }: PrivatePostgresOptions) {
    this.port = port;
    this.#isOwnFolder = folder === undefined;
    this.#folder = folder ?? mkdtempSync(join(tmpdir(), 'capataz-postgres-'));
    this.#settings = Object.entries(settings).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
  }

  static isInstalled(): boolean {
    return existsSync(join(binaries, 'postgres'));
  }

  static async open(options: PrivatePostgresOptions = {}): Promise<PrivatePostgres> {
    if (!PrivatePostgres.isInstalled())
      throw new Error(
        `these tests start a PostgreSQL of their own from ${binaries}: apt-get install postgresql`,
      );
    const [port = 0] = await freePorts(1);
    const postgres = new PrivatePostgres(port, options);
    try {
      postgres.#initialise();
      await postgres.start();
    } catch (error) {
      await postgres.close();
      throw error;
    }
    return postgres;
  }

  get url(): string {
    return `postgres://postgres@${this.host}:${this.port}/postgres`;
  }

  get isRunning(): boolean {
    return this.#server !== null;
  }

  async start(): Promise<void> {
    assert(this.#server === null, 'it runs already');
    const place = ['-D', this.#data, '-p', String(this.port), '-h', this.host, '-k', this.#folder];
    const server = spawn(join(binaries, 'postgres'), [...place, ...this.#settings], {
      ...this.#user,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#server = server;
    server.once('exit', () => {
      if (this.#server === server) this.#server = null;
    });
    await whenUp('PostgreSQL', { server, port: this.port, clock: systemClock });
  }

  /** Ends all connections and writes everything down, as `pg_ctl stop -m fast`. */
  async stop(): Promise<void> {
    await this.#end('SIGINT');
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** As the kernel does it when there is no memory left. Resolves when nothing of it is left. */
  async kill(): Promise<void> {
    const pids = this.#pids();
    await this.#end('SIGKILL');
    // They see that it is gone, and end by themselves; before, nothing new starts on this folder.
    await until(() => pids.every((pid) => !isAlive(pid)));
  }

  /** No process of it does anything: connections stay open, and the kernel takes new ones. */
  freeze(): void {
    for (const pid of this.#pids()) process.kill(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.#pids()) process.kill(pid, 'SIGCONT');
  }

  async close(): Promise<void> {
    this.thaw();
    await this.stop();
    const remains = this.#isOwnFolder ? this.#folder : this.#data;
    rmSync(remains, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  /** The server refuses to run as root: there it runs as Debian's own user. */
  #initialise(): void {
    if (this.#user !== null) chownSync(this.#folder, this.#user.uid, this.#user.gid);
    const made = spawnSync(
      join(binaries, 'initdb'),
      ['-D', this.#data, '-U', 'postgres', '-A', 'trust', '--wal-segsize=1', '--no-sync'],
      { ...this.#user, cwd: '/', encoding: 'utf8' },
    );
    if (made.status !== 0)
      throw new Error(`no PostgreSQL for the tests could be made: ${made.stderr}`);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    const exited = once(server, 'exit');
    const cancel = systemClock.after(stopTimeoutMs, () => server.kill('SIGQUIT'));
    server.kill(signal);
    await exited;
    cancel();
  }

  /** The first process before those it has started: what is stopped starts no more. */
  #pids(): number[] {
    const pid = this.#server?.pid;
    if (pid === undefined) return [];
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return [pid, ...children.split(' ').filter(Boolean).map(Number)];
  }
}

/** One that nobody has asked for its end yet is dead all the same. */
function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** The server refuses to run as root. */
export function serverUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
}
