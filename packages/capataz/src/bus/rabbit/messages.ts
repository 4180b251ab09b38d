import type { AsyncMessage, Envelope, SyncMessage } from 'rabbitmq-client';
import { isJsonObject } from '../../std/json.ts';
import type { BusEvent, WireMessage } from '../contract.ts';

/** Why a message is dead, and under which key it came: its way back goes straight to its queue. */
const reasonHeader = 'x-dead-reason';
const keyHeader = 'x-routing-key';
/** AMQP has room for more, but nobody reads a longer reason. */
const maxReasonLength = 2_000;

export function envelopeOf(message: WireMessage, exchange: string, event?: BusEvent): Envelope {
  return {
    exchange,
    routingKey: message.routingKey,
    durable: true,
    contentType: 'application/json',
    // With an encoding the driver leaves the body alone, and it is parsed once, by our rules.
    contentEncoding: 'utf-8',
    headers: { ...message.headers },
    ...(event === undefined ? {} : { messageId: event.id, type: event.name }),
  };
}

/** To `queue` alone, past all exchanges, as a dead letter or back from there. */
export function directEnvelope(message: WireMessage, queue: string, reason?: string): Envelope {
  const envelope = envelopeOf(message, '');
  const headers = {
    ...message.headers,
    [keyHeader]: message.routingKey,
    ...(reason === undefined ? {} : { [reasonHeader]: reason.slice(0, maxReasonLength) }),
  };
  return { ...envelope, routingKey: queue, headers };
}

export interface ReceivedMessage {
  readonly message: WireMessage;
  /** 1 on the first hand-out. */
  readonly deliveries: number;
  /** Why it is dead, where it is. */
  readonly reason: string;
}

export function readMessage(raw: AsyncMessage | SyncMessage): ReceivedMessage {
  const { headers = {}, routingKey, body } = raw;
  const returned = Number(headers['x-delivery-count'] ?? 0);
  const texts = Object.entries(headers).filter(isTextHeader);
  const own = texts.filter(([name]) => name !== reasonHeader && name !== keyHeader);
  const { [reasonHeader]: reason, [keyHeader]: key } = Object.fromEntries(texts);
  return {
    message: {
      routingKey: key ?? keyBeforeDeath(headers['x-death']) ?? routingKey,
      headers: Object.fromEntries(own),
      body: textOf(body),
    },
    deliveries: (Number.isSafeInteger(returned) ? returned : 0) + 1,
    reason: reason ?? headers['x-first-death-reason'] ?? 'unknown',
  };
}

function isTextHeader(header: [string, unknown]): header is [string, string] {
  return typeof header[1] === 'string';
}

/** What the broker itself moved carries its history. */
function keyBeforeDeath(deaths: unknown): string | undefined {
  const first: unknown = Array.isArray(deaths) ? deaths.at(-1) : undefined;
  const keys = isJsonObject(first) ? first['routing-keys'] : undefined;
  const key = Array.isArray(keys) ? keys[0] : undefined;
  return typeof key === 'string' ? key : undefined;
}

/** The driver has parsed what another originator called JSON; the codec wants the text. */
function textOf(body: unknown): string {
  if (Buffer.isBuffer(body)) return body.toString('utf8');
  return typeof body === 'string' ? body : JSON.stringify(body ?? null);
}
