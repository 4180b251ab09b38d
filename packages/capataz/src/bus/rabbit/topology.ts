import type { Channel } from 'rabbitmq-client';
import { defaultMaxDeliveries, defaultMaxLength, type QueueOptions } from '../contract.ts';
import type { RabbitLink } from './link.ts';

export function deadQueue(durable: string): string {
  return `${durable}.dead`;
}

export async function declareExchange(
  link: RabbitLink,
  channel: Channel,
  exchange: string,
): Promise<void> {
  await link.inTime(channel.exchangeDeclare({ exchange, type: 'topic', durable: true }));
}

/** The exchange, the queue with its bindings, and the queue of its dead letters. */
export async function declareQueue(
  link: RabbitLink,
  channel: Channel,
  options: QueueOptions,
): Promise<void> {
  const { durable, exchange, patterns } = options;
  await declareExchange(link, channel, exchange);
  // Classic: it counts no deliveries, so that looking at a dead letter often doesn't drop it.
  await link.inTime(channel.queueDeclare({ queue: deadQueue(durable), durable: true }));
  await link.inTime(
    channel.queueDeclare({ queue: durable, durable: true, arguments: queueArguments(options) }),
  );
  for (const routingKey of patterns) {
    await link.inTime(channel.queueBind({ queue: durable, exchange, routingKey }));
  }
}

/**
 * A quorum queue, for its count of deliveries, which survives everything: beyond the limit the broker
 * itself moves the message to the dead letters. The limit is always set, because without one RabbitMQ
 * 4 drops a message after 20 deliveries.
 * What 3.10 confirms survives a kill -9; a queue that was first declared less than half a second before
 * one does not, and has to be deleted by hand: it answers nobody, and subscribers report it.
 */
function queueArguments({
  durable,
  maxDeliveries,
  maxLength,
}: QueueOptions): Record<string, unknown> {
  return {
    'x-queue-type': 'quorum',
    // The broker counts what came back, we what went out.
    'x-delivery-limit': (maxDeliveries ?? defaultMaxDeliveries) - 1,
    'x-max-length': maxLength ?? defaultMaxLength,
    // Refuses what is new instead of dropping what is old; also what `at-least-once` asks for.
    'x-overflow': 'reject-publish',
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': deadQueue(durable),
    'x-dead-letter-strategy': 'at-least-once',
  };
}
