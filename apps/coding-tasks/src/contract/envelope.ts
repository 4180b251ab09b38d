import { type BusCodec, type BusEvent, type Decoded, eventHeaders } from 'capataz/bus';
import { z } from 'zod';
import { originators } from './names.ts';
import { isEventName } from './payloads.ts';

/** The word of the command line, its settings and, for the engine, of what jobs emit. */
export const applicationName = 'capataz-coding';

/** A UUID, or what a peer has in its place. */
const id = z.string().min(1).max(200);
const envelope = z.object({
  metadata: z.object({
    taskId: id,
    traceId: id,
    timestamp: z.iso.datetime({ offset: true }),
    originator: z.string().min(1),
  }),
  payload: z.record(z.string(), z.json()).default({}),
});

/**
 * `{ metadata: { taskId, traceId, timestamp, originator }, payload }`. The contract has no field for
 * the event's name: it is the routing key, and `payload.nombreEvento` for readers that look there.
 * A task's id is its job's id and the correlation id of all that it emits.
 */
export const taskCodec: BusCodec = {
  encode: (event) => ({
    routingKey: event.name,
    headers: eventHeaders(event),
    body: JSON.stringify({
      metadata: {
        taskId: taskIdOf(event),
        traceId: event.id,
        timestamp: new Date(event.time).toISOString(),
        originator:
          event.originator === applicationName ? originators.orchestrator : event.originator,
      },
      payload: { ...payloadObject(event), nombreEvento: event.name },
    }),
  }),
  decode({ routingKey, headers, body }) {
    const parsed = envelope.safeParse(jsonOf(body));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return problem(`${(issue?.path ?? []).join('.') || 'the body'}: ${issue?.message}`);
    }
    const { metadata, payload } = parsed.data;
    const { nombreEvento, ...rest } = payload;
    const name = nameOf(routingKey, nombreEvento);
    if (name === null) return problem(`payload.nombreEvento: no event, nor is "${routingKey}"`);
    const { taskId, traceId, timestamp, originator } = metadata;
    return {
      ok: true,
      event: {
        ...{ id: traceId, job: taskId, sequence: 0, correlationId: taskId, originator, name },
        time: Date.parse(timestamp),
        payload: rest,
        trace: headers.traceparent ?? null,
      },
    };
  },
};

/** A peer that publishes through a plain queue has that queue's name as its routing key. */
function nameOf(routingKey: string, named: unknown): string | null {
  if (isEventName(routingKey))
    return named === undefined || named === routingKey ? routingKey : null;
  return typeof named === 'string' && isEventName(named) ? named : null;
}

function taskIdOf({ correlationId, job }: BusEvent): string {
  return correlationId === '' ? job : correlationId;
}

function payloadObject({ payload }: BusEvent) {
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

function problem(text: string): Decoded {
  return { ok: false, problem: text };
}
