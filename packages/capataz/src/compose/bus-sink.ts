import type { Breakers } from '../breaker/breakers.ts';
import { type Bus, BusError, type BusEvent } from '../bus/contract.ts';
import type { EventSink } from '../engine/relay.ts';
import type { OutboxEvent } from '../store/contract.ts';

/** The breaker of the bus, as the metrics show it. */
const guarded = 'bus';

interface BusSinkParts {
  readonly bus: Bus;
  readonly breakers: Breakers;
  /** The service that says it: the application. */
  readonly originator: string;
  /** Default: at once. */
  readonly mayPublish?: () => boolean;
}

/** Between two looks whether it may. */
const lookAgainMs = 50;

/** Events of jobs go to a bus. While its circuit is open they rest in the outbox, and no try counts. */
export function busSink({
  bus,
  breakers,
  originator,
  mayPublish = () => true,
}: BusSinkParts): EventSink {
  return {
    publish: (event) =>
      breakers.call(guarded, () => bus.publish(event.exchange, onTheBus(event, originator))),
    pausedForMs: () => (mayPublish() ? breakers.get(guarded).pausedForMs : lookAgainMs),
    isFinal: (error) => error instanceof BusError && error.code === 'given_up',
  };
}

/** A bus that refuses one event, or has one full queue, is not down. */
export function judgeBus(error: unknown): 'failure' | 'success' {
  return error instanceof BusError && error.code !== 'down' ? 'success' : 'failure';
}

function onTheBus(event: OutboxEvent, originator: string): BusEvent {
  const { id, jobId: job, sequence, correlationId, createdAt: time, name, payload, trace } = event;
  return { id, job, sequence, correlationId, time, originator, name, payload, trace };
}
