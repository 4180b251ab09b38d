import type { DeadLetter, DeadLetterQuery, Store } from '../store/contract.ts';
import type { LettersPort } from './ports.ts';

/** What operators do with events that nobody would take. */
export class Letters implements LettersPort {
  readonly #store: Store;
  readonly #onRedriven: () => void;

  constructor(store: Store, onRedriven: () => void) {
    this.#store = store;
    this.#onRedriven = onRedriven;
  }

  list(query: DeadLetterQuery): Promise<DeadLetter[]> {
    return this.#store.deadLetters(query);
  }

  async redrive(ids: readonly string[]): Promise<string[]> {
    const redriven = await this.#store.redriveLetters(ids);
    if (redriven.length > 0) this.#onRedriven();
    return redriven;
  }

  resolve(ids: readonly string[], by: string, notes: string): Promise<string[]> {
    return this.#store.resolveLetters(ids, by, notes);
  }
}
