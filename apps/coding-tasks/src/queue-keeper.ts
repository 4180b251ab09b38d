import { queues } from './contract/queues.ts';
import type { Service, ServiceWorld } from './service.ts';

const againMs = 1_000;

/** Declares every service's queue, and again until the bus has taken it. */
export class QueueKeeper implements Service {
  readonly #world: Pick<ServiceWorld, 'bus' | 'clock' | 'log'>;
  #cancel: () => void = () => undefined;
  #declared: Promise<void> = Promise.resolve();

  constructor(world: Pick<ServiceWorld, 'bus' | 'clock' | 'log'>) {
    this.#world = world;
  }

  start(): void {
    this.#declared = this.#declare();
  }

  async stop(): Promise<void> {
    this.#cancel();
    await this.#declared;
  }

  async #declare(): Promise<void> {
    const { bus, clock, log } = this.#world;
    try {
      for (const queue of Object.values(queues)) await bus.declare(queue);
    } catch (error) {
      log.warn('the queues of the services can’t be declared yet', { error });
      this.#cancel = clock.after(againMs, () => this.start());
    }
  }
}
