import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Enough for a model to see what went wrong, and little enough for a message. */
const tailChars = 16_000;
const headChars = 2_000;

/** A run's whole log in a file, as it comes, and what of it goes into the result. */
export class RunLog implements Disposable {
  readonly path: string;
  readonly #file: number;
  #head = '';
  #tail = '';
  #chars = 0;
  #problem: string | null = null;

  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true });
    this.path = path;
    this.#file = openSync(path, 'w', 0o600);
  }

  write(text: string): void {
    this.#keep(text);
    this.#chars += text.length;
    if (this.#head.length < headChars) this.#head += text.slice(0, headChars - this.#head.length);
    this.#tail = (this.#tail + text).slice(-tailChars);
  }

  /** A disk that is full costs the file, not the verdict. */
  #keep(text: string): void {
    if (this.#problem !== null) return;
    try {
      writeSync(this.#file, text);
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
    }
  }

  get lastLine(): string {
    return this.#tail.trimEnd().split('\n').at(-1)?.slice(0, 200) ?? '';
  }

  /** The whole of a short log; of a long one its beginning, its end, and where the rest is. */
  get excerpt(): string {
    if (this.#chars <= tailChars) return this.#tail;
    const whole =
      this.#problem === null ? `the whole log: ${this.path}` : `left out, ${this.#problem}`;
    return `${this.#head}\n… ${whole} …\n${this.#tail}`;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

export function removeOldLogs(folder: string, before: number): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).mtimeMs < before) rmSync(path, { force: true });
  }
}
