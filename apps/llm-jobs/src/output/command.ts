import { spawn } from 'node:child_process';

/** A program that judges answers: it reads the answer and says by its exit code whether it is good. */
export interface CheckCommand {
  readonly words: readonly [string, ...string[]];
  readonly timeoutMs: number;
}

const mostOutput = 2_000;

/** @returns why the answer is no good: what the command wrote last, or that it took too long. */
export function commandFault(
  answer: string,
  { words: [program, ...args], timeoutMs }: CheckCommand,
  signal: AbortSignal,
): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>();
  const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: stop,
    killSignal: 'SIGKILL',
  });
  let output = '';
  const take = (chunk: Buffer): void => {
    output = `${output}${chunk}`.slice(-mostOutput);
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  // It may judge without reading to the end.
  child.stdin.on('error', () => undefined);
  child.stdin.end(answer);
  child.on('error', (error) => {
    if (signal.aborted) reject(error);
    else if (stop.aborted) resolve(`the check \`${program}\` took longer than ${timeoutMs} ms`);
    else resolve(`the check \`${program}\` could not be run: ${error.message}`);
  });
  child.on('close', (code) => {
    resolve(
      code === 0 ? null : `the check \`${program}\` says: ${output.trim() || `code ${code}`}`,
    );
  });
  return promise;
}
