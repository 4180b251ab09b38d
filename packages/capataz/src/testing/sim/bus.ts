import {
  type Bus,
  BusError,
  type BusEvent,
  type Delivery,
  type QueueOptions,
  type Subscription,
} from '../../bus/contract.ts';
import { createFaultyBus, type FaultyBus } from '../../bus/faulty.ts';
import { createInProcessBus } from '../../bus/in-process.ts';
import { type Clock, delay } from '../../std/clock.ts';
import type { Dice } from './dice.ts';
import { never, type SimProcess } from './process.ts';

export interface BusFaults {
  /** Share of events that never arrive. */
  readonly loseEvent: number;
  /** Share of confirmations that never arrive, though the bus has the event. */
  readonly loseConfirm: number;
  /** Share of those losses that nobody notices before the publisher has lost patience. */
  readonly silent: number;
  /** Share of events that arrive twice. */
  readonly duplicate: number;
  /** Share of events that arrive after the publisher may have lost patience. */
  readonly late: number;
  /** The one kind of event that the bus does not take. */
  readonly refuses: string | null;
  /** Longest way, in ms, each direction. Different ways reorder the events of different jobs. */
  readonly latencyMs: number;
}

export const calmBus: BusFaults = {
  loseEvent: 0,
  loseConfirm: 0,
  silent: 0,
  duplicate: 0,
  late: 0,
  refuses: null,
  latencyMs: 2,
};

/** What the simulation's own events go to. */
export const simExchange = 'sim';
export const listenerQueue: QueueOptions = {
  durable: 'sim.listener',
  exchange: simExchange,
  patterns: ['#'],
};

/** How long a publisher waits for the confirmation. */
export const confirmTimeoutMs = 5_000;

interface SimBusParts {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly faults: () => BusFaults;
  readonly onArrived: (event: BusEvent) => void;
}

/** A broker that outlives the servers. Each of them reaches it by a link of its own. */
export class SimBus {
  readonly #parts: SimBusParts;
  readonly #broker: FaultyBus;
  cuts = 0;

  constructor(parts: SimBusParts) {
    const { clock, dice, faults, onArrived } = parts;
    this.#parts = parts;
    this.#broker = createFaultyBus(createInProcessBus({ clock }), {
      clock,
      fault: (event) => {
        onArrived(event);
        return dice.chance(faults().duplicate) ? 'duplicate' : 'none';
      },
    });
    // Before anybody publishes, so that nothing is missed.
    void this.#broker.declare(listenerQueue);
  }

  /** It takes nothing and hands out nothing for a while. */
  cut(forMs: number): void {
    this.cuts += 1;
    void this.#broker.disconnect();
    this.#parts.clock.after(forMs, () => this.#broker.reconnect());
  }

  /** An operator brings back what the listener could not handle. */
  async redriveDead(): Promise<void> {
    await this.#broker.reviewDead(listenerQueue.durable, () => 'redrive').catch(() => undefined);
  }

  /** The bus as this process sees it, with the way there and back. */
  linkOf(process: SimProcess): Bus {
    return {
      publish: (exchange, event) => process.answer(this.#confirmed(exchange, event)),
      declare: (queue) => process.answer(this.#broker.declare(queue)),
      subscribe: (queue, receive) => process.answer(this.#subscribe(process, queue, receive)),
      reviewDead: (...args) => process.answer(this.#broker.reviewDead(...args)),
      health: () => this.#broker.health(),
      close: async () => undefined,
    };
  }

  async #confirmed(exchange: string, event: BusEvent): Promise<void> {
    const patience = Promise.withResolvers<never>();
    const cancel = this.#parts.clock.after(confirmTimeoutMs, () =>
      patience.reject(new BusError('down', 'the confirmation did not come in time')),
    );
    try {
      await Promise.race([this.#thereAndBack(exchange, event), patience.promise]);
    } finally {
      cancel();
    }
  }

  /** It goes on also where the publisher has lost patience, or died. */
  async #thereAndBack(exchange: string, event: BusEvent): Promise<void> {
    const { clock, dice, faults } = this.#parts;
    const { latencyMs, loseEvent, loseConfirm, silent, late, refuses } = faults();
    const way = { there: dice.between(1, latencyMs), back: dice.between(1, latencyMs) };
    const lateMs = dice.between(0, 2 * confirmTimeoutMs);
    const isLost = dice.chance(loseEvent);
    const isConfirmLost = dice.chance(loseConfirm);
    const isSilent = dice.chance(silent);
    await delay(clock, dice.chance(late) ? lateMs : way.there);
    if (event.name === refuses) throw new BusError('invalid', `${event.name} is not taken`);
    if (isLost) return lost(isSilent);
    await this.#broker.publish(exchange, event);
    await delay(clock, way.back);
    if (isConfirmLost) return lost(isSilent);
  }

  async #subscribe(
    process: SimProcess,
    queue: QueueOptions,
    receive: (delivery: Delivery) => void,
  ): Promise<Subscription> {
    const subscription = await this.#broker.subscribe(queue, (delivery) => {
      void process.awake().then(() => {
        if (process.alive) receive(this.#throughTheLink(process, delivery));
      });
    });
    // Its sockets are closed with it.
    void process.death.then(() => subscription.close());
    return subscription;
  }

  /** An acknowledgement is on its way for a while, and may find its link cut. */
  #throughTheLink(process: SimProcess, delivery: Delivery): Delivery {
    const { clock, dice, faults } = this.#parts;
    const later = (settle: () => void) => (): void => {
      if (process.alive) clock.after(dice.between(1, faults().latencyMs), settle);
    };
    return {
      event: delivery.event,
      deliveries: delivery.deliveries,
      ack: later(() => delivery.ack()),
      release: later(() => delivery.release()),
      deadLetter: (reason) => process.answer(delivery.deadLetter(reason)),
    };
  }
}

/** A reset is noticed at once, silence only by whoever loses patience. */
function lost(isSilent: boolean): Promise<never> {
  return isSilent ? never() : Promise.reject(new BusError('down', 'connection reset'));
}
