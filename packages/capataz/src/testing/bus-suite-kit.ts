import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  type Bus,
  BusError,
  type BusEvent,
  type Delivery,
  type QueueOptions,
} from '../bus/contract.ts';

/** What the conformance suite needs of a bus: one that nobody else talks on. */
export interface BusUnderTest {
  readonly bus: Bus;
  /** Names made of this are no other test's. */
  readonly prefix: string;
  /** Another client of the same bus; in process the same one. */
  another(): Bus;
  /** Closes what is open and removes what was made. Is told the names that were used. */
  close(used: { readonly exchanges: string[]; readonly durables: string[] }): Promise<void>;
}

export type OpenBus = () => Promise<BusUnderTest>;

/** One test's view: names of its own, remembered so that they can be removed. */
export class Stage {
  readonly bus: Bus;
  readonly another: () => Bus;
  readonly exchanges: string[] = [];
  readonly durables: string[] = [];
  readonly #prefix: string;

  constructor({ bus, prefix, another }: BusUnderTest) {
    this.bus = bus;
    this.#prefix = prefix;
    this.another = another;
  }

  exchange(name = 'topico.tareas'): string {
    const exchange = `${this.#prefix}.${name}`;
    if (!this.exchanges.includes(exchange)) this.exchanges.push(exchange);
    return exchange;
  }

  queue(name: string, fields: Partial<QueueOptions> = {}): QueueOptions {
    const durable = `${this.#prefix}.${name}`;
    if (!this.durables.includes(durable)) this.durables.push(durable);
    return { durable, exchange: this.exchange(), patterns: ['#'], ...fields };
  }

  /** Publishes events `1` to `count` of one job. */
  async publish(count: number, fields: Partial<BusEvent> = {}): Promise<void> {
    for (let number = 1; number <= count; number += 1) {
      await this.bus.publish(
        this.exchange(),
        eventOf(String(number), { sequence: number, ...fields }),
      );
    }
  }
}

export function eventOf(id: string, fields: Partial<BusEvent> = {}): BusEvent {
  return {
    id,
    job: 'job-1',
    sequence: 1,
    correlationId: 'c-1',
    time: Date.UTC(2026, 0, 1, 12),
    originator: 'gateway',
    name: 'tarea.crear',
    payload: { prompt: 'count the words' },
    trace: null,
    ...fields,
  };
}

/** Deliveries as they come, to be awaited. */
export class Inbox {
  readonly all: Delivery[] = [];
  #onArrival: () => void = () => undefined;

  readonly receive = (delivery: Delivery): void => {
    this.all.push(delivery);
    this.#onArrival();
  };

  get ids(): string[] {
    return this.all.map(({ event }) => event.id);
  }

  /** Resolves with the first `count` once they are there. */
  async first(count: number): Promise<Delivery[]> {
    while (this.all.length < count) {
      await new Promise<void>((resolve) => {
        this.#onArrival = resolve;
      });
    }
    return this.all.slice(0, count);
  }
}

export async function one(inbox: Inbox, number = 1): Promise<Delivery> {
  const delivery = (await inbox.first(number))[number - 1];
  assert.ok(delivery !== undefined);
  return delivery;
}

export async function rejectsWith(code: string, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error) => error instanceof BusError && error.code === code);
}

export type StageTest = (title: string, body: (stage: Stage) => Promise<void>) => void;

/** Each test has a bus of its own. */
export function stageTest(open: OpenBus): StageTest {
  return (title, body) => {
    it(title, async () => {
      const sut = await open();
      const stage = new Stage(sut);
      try {
        await body(stage);
      } finally {
        await sut.close(stage);
      }
    });
  };
}

/** Id and reason of each dead letter of a name. */
export async function letters(bus: Bus, durable: string): Promise<string[]> {
  const found: string[] = [];
  await bus.reviewDead(durable, ({ event, reason }) => {
    found.push(`${event?.id ?? '?'}: ${reason}`);
    return 'keep';
  });
  return found;
}

/** `1` to `count`. */
export function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}
