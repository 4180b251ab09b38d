import { CapatazError } from '../protocol/errors.ts';
import type { JsonObject } from '../std/json.ts';

/** One thing that is wrong, and where: file (or environment, or flags), entry and field. */
export interface Problem {
  readonly where: string;
  readonly message: string;
}

/** `user:password@`, as addresses have it: a value that is no good is repeated, its secret never. */
const credentials = /[^\s"'/:@]*:[^\s"'@]+@/g;

/** Collects everything that is wrong, so that one start tells it all. */
export class Problems {
  readonly #found: Problem[] = [];

  add(where: string, message: string): void {
    this.#found.push({ where, message: message.replaceAll(credentials, '***@') });
  }

  /**
   * @param details of the error, beside the problems
   * @throws CapatazError CONFIG_INVALID that lists every problem, if there is one.
   */
  throwIfAny(details: JsonObject = {}): void {
    if (this.#found.length === 0) return;
    const lines = this.#found.map(({ where, message }) => `${where}: ${message}`);
    throw new CapatazError('CONFIG_INVALID', lines.join('\n'), {
      ...details,
      problems: this.#found.map(({ where, message }) => ({ where, message })),
    });
  }
}
