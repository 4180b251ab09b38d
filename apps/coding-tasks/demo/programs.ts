import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../bin/capataz-coding.mjs', import.meta.url));

/** A command that is typed: its output is shown, and given back. */
export async function typed(words: readonly string[], cwd: string): Promise<string> {
  console.log(`\n$ capataz-coding ${words.map(quoted).join(' ')}`);
  return output(words, cwd, (line) => console.log(line));
}

export async function output(
  words: readonly string[],
  cwd: string,
  onLine: (line: string) => void = () => undefined,
): Promise<string> {
  const child = started(words, cwd);
  const lines: string[] = [];
  linesOf(child).on('line', (line) => {
    lines.push(line);
    onLine(line);
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${words.slice(0, 2).join(' ')} ended with ${code}`);
  return lines.join('\n');
}

/** A service that runs until it is stopped. */
export class ServiceProcess {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(words: readonly string[], cwd: string): Promise<ServiceProcess> {
    console.log(`\n$ capataz-coding ${words.map(quoted).join(' ')}`);
    const child = started(words, cwd);
    for await (const line of linesOf(child)) {
      console.log(line);
      const url = /^listening on (http:\S+)$/.exec(line)?.[1];
      if (url !== undefined) return new ServiceProcess(child, url);
    }
    throw new Error('it ended before it listened; its own words stand above');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}

function started(words: readonly string[], cwd: string): ChildProcess {
  return spawn(process.execPath, [program, ...words], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function linesOf({ stdout }: ChildProcess) {
  if (stdout === null) throw new Error('the command has no output');
  return createInterface({ input: stdout });
}

function quoted(word: string): string {
  return /^[\w./:@,-]+$/.test(word) ? word : `'${word}'`;
}
