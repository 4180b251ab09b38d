import { BusError } from 'capataz/bus';
import { delay } from 'capataz/server';
import { exchanges } from '../contract/names.ts';
import type { ServiceWorld } from '../service.ts';
import type { Ledger, Result } from './ledger.ts';

interface PublisherParts extends ServiceWorld {
  readonly name: string;
  readonly ledger: Ledger;
}

const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/** Says what lies in the ledger unsaid, in its order, until the bus has it. */
export class Publisher {
  readonly #parts: PublisherParts;
  readonly #stopping = new AbortController();
  #round: Promise<void> | null = null;
  #isAsked = false;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  wake(): void {
    this.#isAsked = true;
    this.#round ??= this.#run().finally(() => {
      this.#round = null;
      // Woken between the last look and here, it would sleep on what it was woken for.
      if (this.#isAsked && !this.#stopping.signal.aborted) this.wake();
    });
  }

  async publish(result: Result): Promise<void> {
    const { bus, clock, name: originator } = this.#parts;
    await bus.publish(exchanges.results, {
      ...{ id: result.id, job: result.task, sequence: 0, correlationId: result.correlationId },
      ...{ time: clock.now(), originator, name: result.name, payload: result.payload, trace: null },
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#round;
  }

  /** What the bus will never take must not hold up what comes after it. */
  async #publishOrDrop(result: Result): Promise<void> {
    try {
      await this.publish(result);
    } catch (error) {
      const isHopeless = error instanceof BusError && !error.isRetryable && error.code !== 'closed';
      if (!isHopeless) throw error;
      this.#parts.log.error('the bus will never take this result', { job: result.task, error });
    }
  }

  async #run(): Promise<void> {
    let waitMs = firstWaitMs;
    while (this.#isAsked && !this.#stopping.signal.aborted) {
      this.#isAsked = false;
      try {
        for (const result of this.#parts.ledger.unpublished()) {
          await this.#publishOrDrop(result);
          this.#parts.ledger.published(result.id);
        }
        waitMs = firstWaitMs;
      } catch (error) {
        this.#parts.log.warn('a result could not be published yet', { error });
        this.#isAsked = true;
        await delay(this.#parts.clock, waitMs, this.#stopping.signal);
        waitMs = Math.min(waitMs * 2, longestWaitMs);
      }
    }
  }
}
