import { type Environment, processEnvironment } from '../config/environment.ts';
import { codeOf } from '../config/toml.ts';
import { type Clock, systemClock } from '../std/clock.ts';
import { type Random, systemRandom } from '../std/random.ts';
import { type Application, capataz } from './application.ts';
import type { Output } from './output.ts';

/** The world of a command: everything that it reads or writes comes from here. */
export interface CliContext {
  /** Whose commands these are. */
  readonly application: Application;
  readonly environment: Environment;
  /** Where relative paths start. */
  readonly directory: string;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly readStdin: () => Promise<string>;
  readonly clock: Clock;
  readonly random: Random;
  /** The server that is tried when none is named and none holds a data folder. */
  readonly defaultUrl: string;
  /**
   * Calls back when the process is asked to stop, once. Asked again it ends at once; with a time-out
   * only when that is over.
   * @returns a function that takes the listener away.
   */
  readonly onStop: (
    listener: (signal: string) => void,
    options?: { readonly timeoutMs?: number },
  ) => () => void;
  /** Starts this very command anew in place of this process; false where the system can't. */
  readonly restart: (extraArguments: readonly string[]) => boolean;
  exitCode: number;
}

export function processContext(application: Application = capataz): CliContext {
  return {
    application,
    environment: processEnvironment(),
    directory: process.cwd(),
    // A reader that has seen enough, as `head` does, is no failure.
    stdout: outputOf(process.stdout, () => process.exit(0)),
    // A log that nobody reads must not end a server.
    stderr: outputOf(process.stderr, () => {}),
    readStdin: async () => {
      const chunks: Buffer[] = [];
      // Without an encoding, standard input comes as buffers.
      for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks).toString();
    },
    clock: systemClock,
    random: systemRandom,
    defaultUrl: 'http://127.0.0.1:8080',
    onStop,
    restart,
    exitCode: 0,
  };
}

function outputOf(stream: NodeJS.WriteStream, onReaderGone: () => void): Output {
  stream.on('error', (error) => {
    if (codeOf(error) !== 'EPIPE') throw error;
    onReaderGone();
  });
  return {
    write: (text) => {
      stream.write(text);
    },
    isTerminal: stream.isTTY === true,
  };
}

/** How a shell shows a process that a signal ended. SIGBREAK is Windows's, and never comes elsewhere. */
const exitBySignal: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, SIGBREAK: 149 };

const onStop: CliContext['onStop'] = (listener, { timeoutMs } = {}) => {
  let isAsked = false;
  let cancel = (): void => {};
  const onSignal = (signal: string): void => {
    if (isAsked && timeoutMs === undefined) process.exit(exitBySignal[signal] ?? 1);
    if (isAsked) return;
    isAsked = true;
    if (timeoutMs !== undefined) cancel = systemClock.after(timeoutMs, () => process.exit(1));
    listener(signal);
  };
  const signals = Object.keys(exitBySignal);
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    cancel();
    for (const signal of signals) process.off(signal, onSignal);
  };
};

function restart(extraArguments: readonly string[]): boolean {
  if (typeof process.execve !== 'function') return false;
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(processEnvironment())) {
    if (value !== undefined) environment[name] = value;
  }
  process.execve(
    process.execPath,
    [process.execPath, ...process.execArgv, ...process.argv.slice(1), ...extraArguments],
    environment,
  );
  return true;
}
