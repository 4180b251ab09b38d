import type { Bus, QueueOptions } from './contract.ts';

/** The same bus, with this before the names of all exchanges and queues: one broker for several systems. */
export function prefixedBus(bus: Bus, prefix: string): Bus {
  const named = <Q extends QueueOptions>(queue: Q): Q => ({
    ...queue,
    durable: `${prefix}${queue.durable}`,
    exchange: `${prefix}${queue.exchange}`,
  });
  return {
    publish: (exchange, event) => bus.publish(`${prefix}${exchange}`, event),
    declare: (queue) => bus.declare(named(queue)),
    subscribe: (queue, receive) => bus.subscribe(named(queue), receive),
    reviewDead: (durable, decide, limit) => bus.reviewDead(`${prefix}${durable}`, decide, limit),
    health: () => bus.health(),
    close: () => bus.close(),
  };
}
