import { cleanJson, cleanText, isJsonObject, type JsonObject, parseJson } from '../std/json.ts';
import {
  type BusCodec,
  BusError,
  type BusEvent,
  type Decoded,
  type WireMessage,
} from './contract.ts';

/** Largest text of a message. A broker takes more, but holds it whole in memory for each consumer. */
export const maxMessageBytes = 16 * 1024 * 1024;

/** A routing key and a message id are AMQP short strings. */
const maxShortBytes = 255;

/** Headers that every codec's messages carry, so that tools need not know the body. */
export function eventHeaders(event: BusEvent): Record<string, string> {
  return {
    'x-correlation-id': event.correlationId === '' ? event.job : event.correlationId,
    event_id: event.id,
    event_type: event.name,
    aggregate_id: event.job,
    ...(event.trace === null ? {} : { traceparent: event.trace }),
  };
}

/** The product's own form: one JSON object, with the names that its HTTP API uses. */
export const envelopeCodec: BusCodec = {
  encode: (event) => ({
    routingKey: event.name,
    headers: eventHeaders(event),
    body: JSON.stringify({
      id: event.id,
      job: event.job,
      sequence: event.sequence,
      correlation_id: event.correlationId,
      time: new Date(event.time).toISOString(),
      originator: event.originator,
      name: event.name,
      payload: event.payload,
    }),
  }),
  decode({ body, headers }) {
    const parsed = parseJson(body);
    if (!parsed.ok) return problem(`the body is no JSON that can be stored (${parsed.problem})`);
    if (!isJsonObject(parsed.value)) return problem('the body is no JSON object');
    return readEnvelope(parsed.value, headers);
  },
};

function readEnvelope(body: JsonObject, headers: WireMessage['headers']): Decoded {
  const { id, job, name, originator, sequence = 0, payload = null } = body;
  if (!isText(id)) return problem('`id` is missing');
  if (!isText(job)) return problem('`job` is missing');
  if (!isText(name)) return problem('`name` is missing');
  if (!isText(originator)) return problem('`originator` is missing');
  if (typeof sequence !== 'number') return problem('`sequence` is no number');
  const time = isText(body.time) ? Date.parse(body.time) : Number.NaN;
  if (Number.isNaN(time)) return problem('`time` is no ISO 8601 time');
  const given = body.correlation_id ?? headers['x-correlation-id'];
  const correlationId = isText(given) ? given : job;
  const trace = headers.traceparent ?? null;
  const event = { id, job, sequence, correlationId, time, originator, name, payload, trace };
  return { ok: true, event };
}

/**
 * Encodes what a bus may take. Texts that no store could keep are cleaned by the product's one rule
 * (`cleanJson`). @throws BusError `invalid` or `too_large`
 */
export function encodeChecked(codec: BusCodec, event: BusEvent): WireMessage {
  const payload = cleanJson(event.payload);
  if (payload === undefined) throw new BusError('invalid', 'the payload is no JSON');
  if (!Number.isFinite(event.time)) throw new BusError('invalid', 'the time is none');
  const message = codec.encode({
    ...event,
    id: checkedKey('id', event.id),
    name: checkedKey('name', event.name),
    job: cleanText(event.job),
    correlationId: cleanText(event.correlationId),
    originator: cleanText(event.originator),
    trace: event.trace === null ? null : cleanText(event.trace),
    payload,
  });
  checkedKey('routing key', message.routingKey);
  const bytes = Buffer.byteLength(message.body);
  if (bytes > maxMessageBytes) {
    const sizes = `${bytes} bytes, more than ${maxMessageBytes}`;
    throw new BusError('too_large', `the event ${event.id} has ${sizes}`);
  }
  return message;
}

function checkedKey(what: string, text: string): string {
  const isFit = text !== '' && cleanText(text) === text && Buffer.byteLength(text) <= maxShortBytes;
  if (isFit) return text;
  throw new BusError('invalid', `the event's ${what} must have 1 to ${maxShortBytes} bytes`);
}

/** A codec is the application's: what it throws is a problem of that message, not of the bus. */
export function decodeSafely(codec: BusCodec, message: WireMessage): Decoded {
  try {
    return codec.decode(message);
  } catch (error) {
    return problem(`the codec failed: ${messageOf(error)}`);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function problem(text: string): Decoded {
  return { ok: false, problem: text };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
