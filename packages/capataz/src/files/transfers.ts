import { CapatazError } from '../protocol/errors.ts';
import type { TransferOptions } from './contract.ts';

type Release = () => void;

/** When a refused caller should come back. */
const retryAfterMs = 1_000;

/** The right to transfer, of which there are so many at once. */
export class TransferSlots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#free = most;
  }

  get free(): number {
    return this.#free;
  }

  /** @returns what gives the slot back; harmless when it is called again. @throws FILES_BUSY */
  async take({ whenBusy = 'refuse', signal }: TransferOptions): Promise<Release> {
    signal?.throwIfAborted();
    if (this.#free === 0) {
      if (whenBusy === 'refuse') throw busy();
      // The slot is handed over: it is never free in between, so that nobody overtakes.
      await this.#turn(signal);
    } else this.#free -= 1;
    let isHeld = true;
    return () => {
      if (isHeld) this.#giveBack();
      isHeld = false;
    };
  }

  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else next();
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(go);
        reject(signal?.reason);
      };
      const go = (): void => {
        this.#waiting.delete(go);
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      this.#waiting.add(go);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}

function busy(): CapatazError {
  const message = 'as many files are being transferred as may be at once; come back in a moment';
  return new CapatazError('FILES_BUSY', message, { retry_after_ms: retryAfterMs });
}
