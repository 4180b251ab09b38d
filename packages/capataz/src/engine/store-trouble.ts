import { CapatazError } from '../protocol/errors.ts';
import type { Log, LogFields } from '../std/log.ts';

/** The store can't work at present: no fault of what was asked of it. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof CapatazError && error.code === 'STORE_UNAVAILABLE';
}

/** Some of what was asked for is locked by somebody else; the store takes everything besides. */
export function isStoreBusy(error: unknown): boolean {
  return error instanceof CapatazError && error.code === 'STORE_BUSY';
}

export interface TroubleTexts {
  readonly begins: string;
  readonly ends: string;
}

/**
 * What a part logs of an outage: one line when it meets it and one when it is over, however often it
 * tries meanwhile. Any other error is told each time.
 */
export class StoreTrouble {
  readonly #log: Log;
  readonly #texts: TroubleTexts;
  #isOn = false;

  constructor(log: Log, texts: TroubleTexts) {
    this.#log = log;
    this.#texts = texts;
  }

  met(error: unknown, fields: LogFields = {}): void {
    const isPassing = isStoreAway(error) || isStoreBusy(error);
    if (isPassing && this.#isOn) return;
    this.#isOn ||= isPassing;
    this.#log.error(this.#texts.begins, { ...fields, error: String(error) });
  }

  isOver(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#log.info(this.#texts.ends);
  }
}
