import type { BusCodec, DeadLetter, DeadVerdict, WireMessage } from '../contract.ts';
import { decodeSafely } from '../envelope.ts';
import type { PostgresLink } from './link.ts';

export interface Review {
  readonly link: PostgresLink;
  readonly codec: BusCodec;
  readonly durable: string;
  readonly decide: (letter: DeadLetter) => DeadVerdict;
  readonly limit: number;
}

interface Dead {
  readonly position: number;
  readonly reason: string;
  readonly routing_key: string;
  readonly headers: string;
  readonly body: string;
}

const statements = { redrive: 'dead-redrive', drop: 'dead-drop' } as const;

/** @throws BusError */
export async function reviewDead(review: Review): Promise<Record<DeadVerdict, number>> {
  const { link, codec, durable, decide, limit } = review;
  const counts = { keep: 0, redrive: 0, drop: 0 };
  const letters = await link.run<Dead>('dead', durable, limit);
  for (const { position, reason, routing_key: routingKey, headers, body } of letters) {
    const message: WireMessage = { routingKey, headers: JSON.parse(headers), body };
    const decoded = decodeSafely(codec, message);
    const verdict = decide({ event: decoded.ok ? decoded.event : null, message, reason });
    if (verdict !== 'keep') await link.run(statements[verdict], position);
    counts[verdict] += 1;
  }
  return counts;
}
