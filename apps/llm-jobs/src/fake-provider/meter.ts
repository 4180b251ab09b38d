import { tokenClasses, type Usage } from '../models/contract.ts';
import type { Behaviour } from './script.ts';
import type { FakeRequest } from './wire.ts';

export type CountedTokens = Readonly<Record<keyof Usage, number>>;

/** One request, noted when it arrived. */
export interface MeterEntry extends Pick<FakeRequest, 'wire' | 'requestId' | 'model' | 'prompt'> {
  /** Ms since 1970 on the fake's clock. */
  readonly at: number;
  readonly isStreamed: boolean;
  readonly behaviour: Behaviour['kind'];
  /** Null: no answer, or none yet. */
  status: number | null;
  /** What the provider will charge for, whether its answer arrived or not. */
  readonly tokens: CountedTokens;
}

export const noTokens: CountedTokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** The provider's own book, to be compared with ours. */
export class Meter {
  readonly #entries: MeterEntry[] = [];

  get entries(): readonly MeterEntry[] {
    return this.#entries;
  }

  /** All entries with our id of a request: more than one is a request that was sent twice. */
  of(requestId: string): MeterEntry[] {
    return this.#entries.filter((entry) => entry.requestId === requestId);
  }

  get total(): CountedTokens {
    const total = { ...noTokens };
    for (const { tokens } of this.#entries) {
      for (const name of tokenClasses) total[name] += tokens[name];
    }
    return total;
  }

  note(entry: MeterEntry): void {
    this.#entries.push(entry);
  }

  clear(): void {
    this.#entries.length = 0;
  }
}
