import type { Channel, SyncMessage } from 'rabbitmq-client';
import type { BusCodec, DeadLetter, DeadVerdict } from '../contract.ts';
import { decodeSafely } from '../envelope.ts';
import type { RabbitLink } from './link.ts';
import { directEnvelope, readMessage } from './messages.ts';
import type { RabbitPublisher } from './publisher.ts';
import { deadQueue } from './topology.ts';

export interface Review {
  readonly link: RabbitLink;
  readonly publisher: RabbitPublisher;
  readonly codec: BusCodec;
  readonly durable: string;
  readonly decide: (letter: DeadLetter) => DeadVerdict;
  readonly limit: number;
}

/** On a channel of its own: what is kept goes back to its place when that is closed. */
export async function reviewDead(review: Review): Promise<Record<DeadVerdict, number>> {
  const { link, durable, limit } = review;
  const counts = { keep: 0, redrive: 0, drop: 0 };
  const channel = await link.channel();
  try {
    const queue = deadQueue(durable);
    const declared = await link.inTime(channel.queueDeclare({ queue, durable: true }));
    // Not more than there were: one that dies again at once is not met twice.
    for (let left = Math.min(limit, declared.messageCount); left > 0; left -= 1) {
      const raw = await link.inTime(channel.basicGet({ queue, noAck: false }));
      if (raw === undefined) break;
      counts[await reviewOne(review, channel, raw)] += 1;
    }
    return counts;
  } finally {
    await link.inTime(channel.close()).catch(() => undefined);
  }
}

async function reviewOne(review: Review, channel: Channel, raw: SyncMessage): Promise<DeadVerdict> {
  const { message, reason } = readMessage(raw);
  const decoded = decodeSafely(review.codec, message);
  const verdict = review.decide({ event: decoded.ok ? decoded.event : null, message, reason });
  if (verdict === 'keep') return verdict;
  if (verdict === 'redrive') {
    await review.publisher.send(directEnvelope(message, review.durable), message.body);
  }
  channel.basicAck({ deliveryTag: raw.deliveryTag });
  return verdict;
}
