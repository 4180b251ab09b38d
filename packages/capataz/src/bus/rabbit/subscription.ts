import type { AsyncMessage, Channel } from 'rabbitmq-client';
import type { Log } from '../../std/log.ts';
import {
  type BusCodec,
  BusError,
  type Delivery,
  defaultPrefetch,
  type QueueOptions,
  type Subscription,
  type WireMessage,
} from '../contract.ts';
import type { BusCounts } from '../counts.ts';
import { decodeSafely } from '../envelope.ts';
import { downError, type RabbitLink } from './link.ts';
import { readMessage } from './messages.ts';
import { declareQueue } from './topology.ts';

export interface ConsumeParts {
  readonly link: RabbitLink;
  readonly codec: BusCodec;
  readonly log: Log;
  readonly counts: BusCounts;
  /** Resolves when it safely lies with the dead letters. */
  readonly bury: (durable: string, message: WireMessage, reason: string) => Promise<void>;
}

interface Consuming extends ConsumeParts {
  readonly channel: Channel;
  readonly durable: string;
  readonly receive: (delivery: Delivery) => void;
}

/** Consumes on a link of its own, which ends with the subscription. @throws BusError */
export async function consume(
  queue: QueueOptions & { readonly prefetch?: number },
  receive: (delivery: Delivery) => void,
  parts: ConsumeParts,
): Promise<Subscription> {
  const { link } = parts;
  try {
    const channel = await link.mainChannel();
    channel.once('basic.cancel', () =>
      link.destroy(new BusError('down', `the queue ${queue.durable} is gone`)),
    );
    await declareQueue(link, channel, queue);
    const prefetchCount = queue.prefetch ?? defaultPrefetch;
    await link.inTime(channel.basicQos({ prefetchCount }));
    const consuming = { ...parts, channel, durable: queue.durable, receive };
    const consumer = { queue: queue.durable, noAck: false };
    await link.inTime(channel.basicConsume(consumer, (raw) => onMessage(consuming, raw)));
    return {
      ended: link.lost.then((error) => (error.code === 'closed' ? null : error)),
      close: () => link.close([channel]),
    };
  } catch (error) {
    link.destroy(downError(error));
    throw downError(error);
  }
}

function onMessage(consuming: Consuming, raw: AsyncMessage): void {
  const { codec, counts, log, durable, receive } = consuming;
  const { message, deliveries } = readMessage(raw);
  const settle = settleOnce(consuming, raw.deliveryTag);
  const deadLetter = (reason: string): Promise<void> =>
    settle.after(async () => {
      await consuming.bury(durable, message, reason);
      counts.deadLettered += 1;
    });
  const decoded = decodeSafely(codec, message);
  if (decoded.ok) {
    receive({
      event: decoded.event,
      deliveries,
      ack: settle.ack,
      release: settle.release,
      deadLetter,
    });
    return;
  }
  counts.undecodable += 1;
  log.warn('a message of the bus can’t be read', { queue: durable, problem: decoded.problem });
  // Where even that fails the message goes back, and the broker's limit of deliveries ends it.
  deadLetter(`undecodable: ${decoded.problem}`).catch(settle.release);
}

/** The broker closes a channel on which something is settled twice. */
function settleOnce({ channel, link }: Consuming, deliveryTag: number) {
  let isSettled = false;
  const settle = (verb: 'basicAck' | 'basicNack') => (): void => {
    if (isSettled) return;
    isSettled = true;
    // After the loss of the link the broker hands it out again whatever is said here.
    if (link.isOpen && channel.active) channel[verb]({ deliveryTag });
  };
  const ack = settle('basicAck');
  return {
    ack,
    release: settle('basicNack'),
    async after(work: () => Promise<void>): Promise<void> {
      if (isSettled) return;
      await work();
      ack();
    },
  };
}
