import type { Clock } from '../std/clock.ts';
import {
  type Bus,
  BusError,
  type BusEvent,
  type BusHealth,
  type Delivery,
  type QueueOptions,
  type Subscription,
} from './contract.ts';

/**
 * - `refuse`: `publish` fails as if the bus were down.
 * - `drop`: it succeeds, and the event is gone.
 * - `duplicate`: the event arrives twice.
 * - `swap`: it arrives after the next one.
 * - `delayMs`: it arrives later; `publish` does not wait for it.
 */
export type PublishFault =
  | 'none'
  | 'refuse'
  | 'drop'
  | 'duplicate'
  | 'swap'
  | { readonly delayMs: number };

export interface FaultyBus extends Bus {
  /** Ends every subscription and refuses everything until `reconnect`. */
  disconnect(): Promise<void>;
  reconnect(): void;
}

interface FaultyBusOptions {
  readonly clock: Clock;
  /** What becomes of an event that is published. Default nothing. */
  readonly fault?: (event: BusEvent) => PublishFault;
}

/** Any bus with faults at will, for tests of those who use it. */
export function createFaultyBus(bus: Bus, options: FaultyBusOptions): FaultyBus {
  return new BusWithFaults(bus, options);
}

class BusWithFaults implements FaultyBus {
  readonly #bus: Bus;
  readonly #options: FaultyBusOptions;
  readonly #losing = new Map<Subscription, (error: Error) => void>();
  #isDown = false;
  #swapped: (() => Promise<void>) | null = null;

  constructor(bus: Bus, options: FaultyBusOptions) {
    this.#bus = bus;
    this.#options = options;
  }

  async publish(exchange: string, event: BusEvent): Promise<void> {
    this.#assertUp();
    const { clock, fault } = this.#options;
    const kind = fault?.(event) ?? 'none';
    const send = (): Promise<void> => this.#bus.publish(exchange, event);
    if (kind === 'refuse') throw new BusError('down', 'refused by the test');
    if (kind === 'drop') return;
    if (typeof kind === 'object') {
      // Nobody waits for it any more; a bus that refuses it now has lost it, as a network does.
      clock.after(kind.delayMs, () => void send().catch(() => undefined));
      return;
    }
    if (kind === 'swap' && this.#swapped === null) {
      this.#swapped = send;
      return;
    }
    await send();
    if (kind === 'duplicate') await send();
    const late = this.#swapped;
    this.#swapped = null;
    await late?.();
  }

  async declare(queue: QueueOptions): Promise<void> {
    this.#assertUp();
    await this.#bus.declare(queue);
  }

  async subscribe(
    queue: QueueOptions & { readonly prefetch?: number },
    receive: (delivery: Delivery) => void,
  ): Promise<Subscription> {
    this.#assertUp();
    const inner = await this.#bus.subscribe(queue, receive);
    const lost = Promise.withResolvers<Error | null>();
    this.#losing.set(inner, lost.resolve);
    void inner.ended.then(() => this.#losing.delete(inner));
    return { ended: Promise.race([lost.promise, inner.ended]), close: () => inner.close() };
  }

  async reviewDead(...args: Parameters<Bus['reviewDead']>): ReturnType<Bus['reviewDead']> {
    this.#assertUp();
    return this.#bus.reviewDead(...args);
  }

  health(): BusHealth {
    const health = this.#bus.health();
    return { ...health, isUp: health.isUp && !this.#isDown };
  }

  close(): Promise<void> {
    return this.#bus.close();
  }

  async disconnect(): Promise<void> {
    this.#isDown = true;
    const losing = [...this.#losing];
    for (const [, lose] of losing) lose(new BusError('down', 'disconnected by the test'));
    await Promise.all(losing.map(([subscription]) => subscription.close()));
  }

  reconnect(): void {
    this.#isDown = false;
  }

  #assertUp(): void {
    if (this.#isDown) throw new BusError('down', 'disconnected by the test');
  }
}
