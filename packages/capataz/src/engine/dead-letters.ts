import type { DeadLetter, DeadLetterQuery, Store } from '../store/contract.ts';
import type { DeadLettersPort } from './ports.ts';

/** What operators do with events that nobody would take. */
export class DeadLetters implements DeadLettersPort {
  readonly #store: Store;
  readonly #onRedriven: () => void;

  constructor(store: Store, onRedriven: () => void) {
    this.#store = store;
    this.#onRedriven = onRedriven;
  }

  list(query: DeadLetterQuery): Promise<DeadLetter[]> {
    return this.#store.deadLetters(query);
  }

  async redrive(ids: readonly string[], client: string): Promise<string[]> {
    const redriven = await this.#store.redriveLetters(await this.#own(ids, client));
    if (redriven.length > 0) this.#onRedriven();
    return redriven;
  }

  async resolve(
    ids: readonly string[],
    { client, notes }: { readonly client: string; readonly notes: string },
  ): Promise<string[]> {
    return this.#store.resolveLetters(await this.#own(ids, client), client, notes);
  }

  /** Whose a letter is never changes, so that it may be asked for before. */
  async #own(ids: readonly string[], client: string): Promise<string[]> {
    const letters = await this.#store.deadLetters({ ids, client, limit: ids.length });
    return letters.map(({ id }) => id);
  }
}
