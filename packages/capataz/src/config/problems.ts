import { CapatazError } from '../protocol/errors.ts';

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

  /** @throws CapatazError CONFIG_INVALID that lists every problem, if there is one. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const lines = this.#found.map(({ where, message }) => `${where}: ${message}`);
    throw new CapatazError('CONFIG_INVALID', lines.join('\n'), {
      problems: this.#found.map(({ where, message }) => ({ where, message })),
    });
  }
}
