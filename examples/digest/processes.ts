import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const capataz = fileURLToPath(new URL('../../packages/capataz/bin/capataz.mjs', import.meta.url));
/** Only what needs a look: the demo itself says what happens. */
const quiet = ['--log-level', 'error'];
const here = fileURLToPath(new URL('.', import.meta.url));

/** A `capataz serve` of our own that is started again on the same data whenever it dies. */
export class Server {
  readonly #dataDir: string;
  readonly #say: (line: string) => void;
  #child: ChildProcess | null = null;
  #port = 0;
  #stopping = false;

  constructor(dataDir: string, say: (line: string) => void) {
    this.#dataDir = dataDir;
    this.#say = say;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const where = ['--port', String(this.#port), '--data-dir', this.#dataDir];
    const args = ['serve', ...where, '--blueprints', `${here}blueprints`, ...quiet];
    const child = spawn(process.execPath, [capataz, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    child.once('exit', (code, signal) => {
      if (this.#stopping || this.#port === 0) return;
      this.#say(`the server died (${signal ?? code}); starting it again on the same data`);
      this.start().catch((error: unknown) => this.#say(`it did not start: ${String(error)}`));
    });
    this.#port = Number(new URL(await listeningLine(child)).port);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await stopChild(this.#child);
  }
}

async function listeningLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the server has no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (http:\S+)$/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('the server ended before it listened; its own words stand above');
}

export function startWorker(url: string, id: string): ChildProcess {
  const args = [
    'worker',
    `${here}worker.ts`,
    '--url',
    url,
    '--id',
    id,
    '--concurrency',
    '4',
    ...quiet,
  ];
  return spawn(process.execPath, [capataz, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
}

export async function stopChild(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}
