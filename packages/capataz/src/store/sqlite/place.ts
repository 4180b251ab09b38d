import { statSync } from 'node:fs';
import type { Clock } from '../../std/clock.ts';

/** Bounds what can be acknowledged into a file that nobody will find again. */
const lookEveryMs = 10_000;

/**
 * The database file as it was opened. Its folder may be removed or replaced under a running server:
 * the open file goes on taking writes then, and all of them are gone when the process ends.
 */
export class DatabasePlace {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #opened: string;
  #lookedAt: number;
  #problem: string | null = null;

  /** `file` exists and is the one that is opened. */
  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
    this.#opened = identityOf(file);
    this.#lookedAt = clock.steady();
  }

  /** Looks at most every 10 s. @returns why nothing may be written, or null. */
  problem(): string | null {
    return this.#clock.steady() - this.#lookedAt < lookEveryMs ? this.#problem : this.look();
  }

  /** Looks now. */
  look(): string | null {
    this.#lookedAt = this.#clock.steady();
    const found = identityOf(this.#file);
    const what = found === 'nothing' ? 'removed' : 'replaced by another file';
    this.#problem =
      found === this.#opened
        ? null
        : `${this.#file} was ${what} while it was open; put it back, or restart the server`;
    return this.#problem;
  }
}

/** The device and the number of the file; `nothing` where none can be seen. */
function identityOf(file: string): string {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return 'nothing';
  }
}
