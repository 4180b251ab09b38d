import type { BusHealth } from './contract.ts';
import { messageOf } from './envelope.ts';

/** What a bus has done, for its health. All implementations count here, so that names mean the same. */
export class BusCounts {
  #published = 0;
  #publishFailures = 0;
  #lastError: string | null = null;
  #isUp = true;
  undecodable = 0;
  deadLettered = 0;

  published(): void {
    this.#published += 1;
    this.#isUp = true;
  }

  publishFailed(error: unknown, isDown: boolean): void {
    this.#publishFailures += 1;
    if (isDown) this.wentDown(error);
  }

  wentDown(error: unknown): void {
    this.#isUp = false;
    this.#lastError = messageOf(error);
  }

  health(): BusHealth {
    return {
      isUp: this.#isUp,
      lastError: this.#lastError,
      published: this.#published,
      publishFailures: this.#publishFailures,
      undecodable: this.undecodable,
      deadLettered: this.deadLettered,
    };
  }
}
