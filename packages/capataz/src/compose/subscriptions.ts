import { createSubscriber, type Subscriber, type SubscriberOptions } from '../bus/subscriber.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';

interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The bus subscriptions of an application, which waits may name (S-69). */
export class Subscriptions {
  readonly #options: readonly SubscriberOptions[];
  readonly #world: World;
  readonly #running = new Map<string, Subscriber>();

  /** @throws CapatazError CONFIG_INVALID for a name that is there twice */
  constructor(options: readonly SubscriberOptions[], world: World) {
    const names = options.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined)
      throw new CapatazError('CONFIG_INVALID', `two subscriptions are named "${twice}"`);
    this.#options = options;
    this.#world = world;
  }

  get names(): readonly string[] {
    return this.#options.map(({ name }) => name);
  }

  /** Each has been live once, or there are none: durable names exist from then on. */
  get haveBegun(): boolean {
    return this.#options.every(({ name }) => {
      const health = this.#running.get(name)?.health();
      return health !== undefined && health.connections > 0;
    });
  }

  start(): void {
    for (const options of this.#options)
      this.#running.set(options.name, createSubscriber({ ...this.#world, ...options }));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((subscriber) => subscriber.stop()));
  }

  /** 0 where it is down, or not begun; null where there is none of this name. */
  liveForMs(name: string): number | null {
    if (!this.#options.some((one) => one.name === name)) return null;
    const health = this.#running.get(name)?.health();
    return health?.status === 'live' ? this.#world.clock.now() - health.since : 0;
  }
}
