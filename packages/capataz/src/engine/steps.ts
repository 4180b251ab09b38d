import { maxPayload } from '../core/checks.ts';
import { cleanJson, type JsonValue } from '../std/json.ts';
import type { Store } from '../store/contract.ts';

/** Names are keys of an index. */
const longestName = 200;

/**
 * `step(name, fn)` of one handler run (S-14). What a step gave is stored under its name before the
 * handler goes on; a later run of the same stay in the state gets it back without calling `fn`.
 * Between the effect and its memo a crash can fall: then `fn` is called again.
 */
export class Steps {
  readonly #store: Store;
  readonly #owner: { readonly jobId: string; readonly token: string };
  readonly #used = new Set<string>();
  #memos: Promise<Readonly<Record<string, JsonValue>>> | null = null;

  constructor(store: Store, owner: { readonly jobId: string; readonly token: string }) {
    this.#store = store;
    this.#owner = owner;
  }

  /** @throws Error for a name that was used before in this run, or when the lease was lost. */
  async run<T extends JsonValue | undefined>(name: string, fn: () => Promise<T> | T): Promise<T> {
    if (name === '' || name.length > longestName)
      throw new Error(`the name of a step must be 1 to ${longestName} characters`);
    if (this.#used.has(name)) throw new Error(`step "${name}" is used twice in this handler`);
    this.#used.add(name);
    this.#memos ??= this.#store.memos(this.#owner.jobId);
    const memos = await this.#memos;
    // What was stored under this name is what this very step gave.
    if (Object.hasOwn(memos, name)) return memos[name] as T;
    const value = storable(name, await fn());
    if (await this.#store.saveMemo({ ...this.#owner, name, value })) return value as T;
    throw new Error(`step "${name}": the lease was lost, so another runs this handler`);
  }
}

function storable(name: string, value: JsonValue | undefined): JsonValue {
  const cleaned = cleanJson(value ?? null, 0, { left: maxPayload });
  if (cleaned !== undefined) return cleaned;
  throw new Error(`step "${name}" gave what JSON cannot hold, or more than 16 Mi characters`);
}
