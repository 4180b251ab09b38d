import type { JsonObject } from 'capataz';
import type { BusEvent } from 'capataz/bus';
import { exchanges } from './names.ts';
import { type EventName, isEventName, type Payload, payloads } from './payloads.ts';

/** An event as the services of this application handle it. */
export type Message<N extends EventName = EventName> = {
  readonly [K in N]: {
    readonly name: K;
    readonly taskId: string;
    /** Of this one event; the same in each of its repetitions. */
    readonly traceId: string;
    /** Ms since 1970 UTC. */
    readonly time: number;
    readonly originator: string;
    readonly payload: Payload<K>;
  };
}[N];

export type ReadMessage =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly problem: string };

/** Checks what came: what is malformed belongs to the dead letters, with the field that is wrong. */
export function readMessage(event: BusEvent): ReadMessage {
  const { name, id: traceId, correlationId: taskId, time, originator } = event;
  if (!isEventName(name)) return { ok: false, problem: `there is no event "${name}"` };
  const parsed = payloads[name].safeParse(event.payload);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = ['payload', ...(issue?.path ?? [])].join('.');
    return { ok: false, problem: `${name}: ${field}: ${issue?.message}` };
  }
  // Name and payload belong together: the one has chosen the schema of the other.
  const message = { name, taskId, traceId, time, originator, payload: parsed.data } as Message;
  return { ok: true, message };
}

/** A payload as it travels: without the fields that are undefined. */
export function jsonOf(payload: object): JsonObject {
  return JSON.parse(JSON.stringify(payload));
}

/** The event that the bus takes for a message. */
export function busEvent({ name, taskId, traceId, time, originator, payload }: Message): BusEvent {
  return {
    ...{ id: traceId, job: taskId, sequence: 0, correlationId: taskId, time, originator, name },
    payload: jsonOf(payload),
    trace: null,
  };
}

/** Where an event is published. */
export function exchangeOf(name: EventName): string {
  if (name.startsWith('log.')) return exchanges.logs;
  const isNews = name === 'tarea.estado_cambiado' || name === 'tarea.accion_atendida';
  return isNews || name.startsWith('resultado.') ? exchanges.results : exchanges.orders;
}
