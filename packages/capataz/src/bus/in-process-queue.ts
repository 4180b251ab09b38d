import type { WireMessage } from './contract.ts';

/** A message under a durable name. */
export interface Held {
  readonly message: WireMessage;
  /** Its place in the order of arrival, kept when it comes back. */
  readonly place: number;
  deliveries: number;
  /** Once: null where it was acknowledged, else why it was given up. */
  readonly onSettled: (reason: string | null) => void;
}

export interface DeadMessage {
  readonly message: WireMessage;
  readonly reason: string;
}

export interface Consumer {
  readonly prefetch: number;
  readonly unsettled: Set<Held>;
  give(held: Held): void;
}

export interface QueueLimits {
  readonly maxDeliveries: number;
  readonly maxLength: number;
  /** Whether what is given up is kept here, for `reviewDead`. */
  readonly keepsDead: boolean;
}

/** One durable name of the bus in process: what waits, who consumes, what is dead. */
export class InProcessQueue {
  readonly bindings: { readonly exchange: string; readonly pattern: string }[] = [];
  readonly limits: QueueLimits;
  dead: DeadMessage[] = [];
  readonly #consumers: Consumer[] = [];
  #waiting: Held[] = [];
  #places = 0;
  #unsettled = 0;
  #turn = 0;

  constructor(limits: QueueLimits) {
    this.limits = limits;
  }

  /** What was handed out and is not settled counts too: it may come back. */
  get hasRoom(): boolean {
    return this.#waiting.length + this.#unsettled < this.limits.maxLength;
  }

  add(message: WireMessage, onSettled: Held['onSettled'] = () => undefined): void {
    this.#places += 1;
    this.#waiting.push({ message, place: this.#places, deliveries: 0, onSettled });
    this.#serve();
  }

  join(consumer: Consumer): void {
    this.#consumers.push(consumer);
    this.#serve();
  }

  /** Gives back what the consumer has not settled. */
  leave(consumer: Consumer): void {
    const index = this.#consumers.indexOf(consumer);
    if (index !== -1) this.#consumers.splice(index, 1);
    const returned = [...consumer.unsettled];
    consumer.unsettled.clear();
    this.#takeBack(returned);
  }

  release(consumer: Consumer, held: Held): void {
    if (consumer.unsettled.delete(held)) this.#takeBack([held]);
  }

  /** The message is gone from here: acknowledged, or given up for a reason. */
  settle(consumer: Consumer, held: Held, reason: string | null): boolean {
    if (!consumer.unsettled.delete(held)) return false;
    this.#unsettled -= 1;
    if (reason !== null && this.limits.keepsDead) this.dead.push({ message: held.message, reason });
    held.onSettled(reason);
    this.#serve();
    return true;
  }

  #takeBack(returned: readonly Held[]): void {
    this.#unsettled -= returned.length;
    const { maxDeliveries } = this.limits;
    for (const { message, deliveries, onSettled } of returned) {
      if (deliveries < maxDeliveries) continue;
      const reason = deliveryLimit(deliveries);
      if (this.limits.keepsDead) this.dead.push({ message, reason });
      onSettled(reason);
    }
    const alive = returned.filter(({ deliveries }) => deliveries < maxDeliveries);
    if (alive.length > 0) {
      this.#waiting = [...alive, ...this.#waiting].sort((one, other) => one.place - other.place);
    }
    this.#serve();
  }

  #serve(): void {
    for (;;) {
      const consumer = this.#waiting.length === 0 ? undefined : this.#nextConsumer();
      const held = consumer === undefined ? undefined : this.#waiting.shift();
      if (consumer === undefined || held === undefined) return;
      held.deliveries += 1;
      this.#unsettled += 1;
      consumer.unsettled.add(held);
      consumer.give(held);
    }
  }

  /** In turn among those with room, as a broker does. */
  #nextConsumer(): Consumer | undefined {
    for (let tried = 0; tried < this.#consumers.length; tried += 1) {
      this.#turn = (this.#turn + 1) % this.#consumers.length;
      const consumer = this.#consumers[this.#turn];
      if (consumer !== undefined && consumer.unsettled.size < consumer.prefetch) return consumer;
    }
    return undefined;
  }
}

export function deliveryLimit(deliveries: number): string {
  return `handed out ${deliveries} times and never settled`;
}
