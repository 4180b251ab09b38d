import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { StringDecoder } from 'node:string_decoder';
import type { Clock } from 'capataz/server';

export interface Command {
  readonly argv: readonly [string, ...string[]];
  readonly folder: string;
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** Default: nothing, and the end of it. */
  readonly input?: string;
}

export interface CommandOptions {
  readonly clock: Clock;
  /** Ends the command: SIGTERM to its process group, SIGKILL after `graceMs`. */
  readonly signal?: AbortSignal;
  readonly timeLimitMs?: number;
  /** Bytes of output, both streams together, after which it is ended. */
  readonly outputLimit?: number;
  /** Default 5 s. */
  readonly graceMs?: number;
  readonly onOutput?: (text: string, stream: 'out' | 'error') => void;
  /** For what talks with the command while it runs; its input is then left open. */
  readonly onStart?: (child: ChildProcess) => void;
}

/** Why it ended, and with what. */
export type Ended =
  | { readonly how: 'exited'; readonly code: number }
  | { readonly how: 'killed'; readonly bySignal: string }
  | { readonly how: 'cancelled' | 'out_of_time' | 'too_much_output' }
  | { readonly how: 'not_started'; readonly problem: string };

const defaultGraceMs = 5_000;

/**
 * Runs a command in a process group of its own. Whatever the group still holds when the command
 * itself has ended is killed: a test that leaves a server behind must not hold the run open.
 */
export async function runCommand(command: Command, options: CommandOptions): Promise<Ended> {
  if (options.signal?.aborted) return { how: 'cancelled' };
  const [program, ...args] = command.argv;
  const child = spawn(program, args, {
    cwd: command.folder,
    env: command.environment,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const started = await Promise.race([
    once(child, 'spawn').then(() => null),
    once(child, 'error').then(([error]) => String(error)),
  ]).catch(String);
  if (started !== null) return { how: 'not_started', problem: started };
  const ending = new Ending(child, options);
  // An agent that ends without reading its input is no error of ours.
  child.stdin.on('error', () => undefined);
  if (options.onStart === undefined) child.stdin.end(command.input ?? '');
  else options.onStart(child);
  return ending.done();
}

export function describeEnd(ended: Ended): string {
  switch (ended.how) {
    case 'exited':
      return `ended with code ${ended.code}`;
    case 'killed':
      return `was killed by ${ended.bySignal}`;
    case 'cancelled':
      return 'was cancelled';
    case 'out_of_time':
      return 'ran out of time';
    case 'too_much_output':
      return 'wrote more than its limit';
    case 'not_started':
      return `could not be started: ${ended.problem}`;
  }
}

/** One child from its start to its end, and the one reason for which it was ended early. */
class Ending {
  readonly #child: ChildProcess;
  readonly #options: CommandOptions;
  readonly #exited: Promise<[number | null, NodeJS.Signals | null]>;
  readonly #closed: Promise<unknown>;
  #reason: 'cancelled' | 'out_of_time' | 'too_much_output' | null = null;
  #bytes = 0;
  readonly #cancels: (() => void)[] = [];

  constructor(child: ChildProcess, options: CommandOptions) {
    this.#child = child;
    this.#options = options;
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve([code, signal]));
    });
    this.#closed = once(child, 'close');
    this.#listen('out');
    this.#listen('error');
    const abort = (): void => this.#end('cancelled');
    options.signal?.addEventListener('abort', abort, { once: true });
    this.#cancels.push(() => options.signal?.removeEventListener('abort', abort));
    if (options.timeLimitMs !== undefined) {
      this.#cancels.push(options.clock.after(options.timeLimitMs, () => this.#end('out_of_time')));
    }
  }

  async done(): Promise<Ended> {
    const [code, signal] = await this.#exited;
    for (const cancel of this.#cancels) cancel();
    this.#signalGroup('SIGKILL');
    await this.#drained();
    if (this.#reason !== null) return { how: this.#reason };
    if (code !== null) return { how: 'exited', code };
    return { how: 'killed', bySignal: signal ?? 'a signal' };
  }

  /** What left the group may hold the pipes for ever; what the command itself wrote is there at once. */
  async #drained(): Promise<void> {
    const { clock, graceMs = defaultGraceMs } = this.#options;
    const cancel = clock.after(graceMs, () => {
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
    });
    await this.#closed;
    cancel();
  }

  #listen(stream: 'out' | 'error'): void {
    const decoder = new StringDecoder('utf8');
    const pipe = stream === 'out' ? this.#child.stdout : this.#child.stderr;
    pipe?.on('data', (bytes: Buffer) => {
      const limit = this.#options.outputLimit ?? Number.POSITIVE_INFINITY;
      const room = Math.max(0, limit - this.#bytes);
      this.#bytes += bytes.length;
      if (room > 0) this.#options.onOutput?.(decoder.write(bytes.subarray(0, room)), stream);
      if (this.#bytes > limit) this.#end('too_much_output');
    });
  }

  #end(reason: 'cancelled' | 'out_of_time' | 'too_much_output'): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#signalGroup('SIGTERM');
    const { clock, graceMs = defaultGraceMs } = this.#options;
    this.#cancels.push(clock.after(graceMs, () => this.#signalGroup('SIGKILL')));
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The group is empty, which is what was wanted.
    }
  }
}
