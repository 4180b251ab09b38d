import { type ChildProcess, spawn } from 'node:child_process';

/** A program that judges answers: it reads the answer and says by its exit code whether it is good. */
export interface CheckCommand {
  readonly words: readonly [string, ...string[]];
  readonly timeoutMs: number;
}

const mostOutput = 2_000;

/**
 * What it starts ends with it.
 * @returns why the answer is no good: what the command wrote last, or that it took too long.
 */
export async function commandFault(
  answer: string,
  { words: [program, ...args], timeoutMs }: CheckCommand,
  signal: AbortSignal,
): Promise<string | null> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string | null>();
  const child = spawn(program, args, { stdio: 'pipe', detached: true });
  const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      output = `${output}${text}`.slice(-mostOutput);
    });
  }
  // It may judge without reading to the end.
  child.stdin.on('error', () => undefined);
  child.stdin.end(answer);
  const onStop = (): void => {
    killAll(child);
    if (signal.aborted) reject(signal.reason);
    else resolve(`the check \`${program}\` took longer than ${timeoutMs} ms`);
  };
  stop.addEventListener('abort', onStop, { once: true });
  child.on('error', (error) => {
    resolve(`the check \`${program}\` could not be run: ${error.message}`);
  });
  // Whoever it left behind would hold its output open.
  child.on('exit', () => killAll(child));
  child.on('close', (code) => {
    const said = output.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim() || `code ${code}`;
    resolve(code === 0 ? null : `the check \`${program}\` says: ${said}`);
  });
  return promise.finally(() => stop.removeEventListener('abort', onStop));
}

/** It leads a group of processes, of which some may be left when it is gone. */
function killAll({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left.
  }
}
