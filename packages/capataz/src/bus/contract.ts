import type { JsonValue } from '../std/json.ts';

/**
 * The bus carries what has happened or shall happen from one part of a system to another. It
 * promises at-least-once to every durable name, and no more: a confirmation that is lost on its way
 * makes the originator publish again, a lost link makes the bus hand out again. Consumers tell
 * repetitions by `id`.
 */
export interface BusEvent {
  /** New for each event and the same for each of its repetitions. */
  readonly id: string;
  /** The job it is about: the aggregate. */
  readonly job: string;
  /** Its place among the events of that job; 0 where the originator counts none. */
  readonly sequence: number;
  readonly correlationId: string;
  /** Ms since 1970 UTC. */
  readonly time: number;
  /** The service that says it. */
  readonly originator: string;
  /** What it says, and the routing key: words between dots, at most 255 bytes. */
  readonly name: string;
  readonly payload: JsonValue;
  /** W3C traceparent, or null. */
  readonly trace: string | null;
}

export interface Bus {
  /** Resolves once every durable name that is bound has the event safely. @throws BusError */
  publish(exchange: string, event: BusEvent): Promise<void>;
  /**
   * Makes the durable name and its bindings without consuming, so that nothing is missed before its
   * consumer first starts. Patterns are added to those it has. @throws BusError
   */
  declare(queue: QueueOptions): Promise<void>;
  /**
   * Declares, and hands events over in order. Several subscriptions of one name share its events.
   * It ends once and for all when the link is lost: `createSubscriber` begins another.
   * @throws BusError
   */
  subscribe(
    queue: QueueOptions & { readonly prefetch?: number },
    receive: (delivery: Delivery) => void,
  ): Promise<Subscription>;
  /**
   * Shows the dead letters of a name, oldest first, at most `limit` (default 100), and does with each
   * as `decide` says: kept, brought back to this name only, or dropped. @throws BusError
   */
  reviewDead(
    durable: string,
    decide: (letter: DeadLetter) => DeadVerdict,
    limit?: number,
  ): Promise<Readonly<Record<DeadVerdict, number>>>;
  health(): BusHealth;
  /** Ends what is open; what was not acknowledged stays with the bus. */
  close(): Promise<void>;
}

export interface QueueOptions {
  /** The consumer's name. What is published while nobody consumes waits under it. */
  readonly durable: string;
  /** A topic exchange: `topico.tareas`. */
  readonly exchange: string;
  /** Routing keys, `*` for one word and `#` for any number of them: `resultado.#`. */
  readonly patterns: readonly string[];
  /**
   * How often one event is handed out before it counts as poison and becomes a dead letter: the
   * counter that also survives a consumer which dies of the event. Default 50, far above the 5 of
   * `createSubscriber`, because a link that is lost hands out anew what had only been prefetched.
   * Fixed when the name is first declared.
   */
  readonly maxDeliveries?: number;
  /**
   * Most events that wait under the name; further ones are refused as `full`. Default: 10,000 in
   * process, else 1,000,000. Fixed when the name is first declared.
   */
  readonly maxLength?: number;
}

/** Most events a subscription holds unsettled. */
export const defaultPrefetch = 100;
export const defaultMaxDeliveries = 50;
/** Where events lie on a disk. */
export const defaultMaxLength = 1_000_000;

/** One hand-out of an event. The first call settles it; after that, or when its link is lost, calls do nothing. */
export interface Delivery {
  readonly event: BusEvent;
  /** 1 on the first hand-out. */
  readonly deliveries: number;
  ack(): void;
  /** Back to the durable name, for whoever is next. */
  release(): void;
  /** Resolves when it lies with the dead letters. @throws BusError, and then it is not settled. */
  deadLetter(reason: string): Promise<void>;
}

export interface Subscription {
  /** Why it ended: null when it was closed, else the error. Never rejects. */
  readonly ended: Promise<Error | null>;
  /** Ends it; what was not settled goes back. */
  close(): Promise<void>;
}

export type DeadVerdict = 'keep' | 'redrive' | 'drop';

export interface DeadLetter {
  /** Null where the codec can't read it. */
  readonly event: BusEvent | null;
  readonly message: WireMessage;
  readonly reason: string;
}

export interface BusHealth {
  /** False while publishing fails; true before the first attempt. */
  readonly isUp: boolean;
  readonly lastError: string | null;
  readonly published: number;
  readonly publishFailures: number;
  /** Messages the codec couldn't read, which became dead letters. */
  readonly undecodable: number;
  readonly deadLettered: number;
}

/** A message as it crosses the wire, whatever the bus. */
export interface WireMessage {
  readonly routingKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How an application's events look on the wire. The default is `envelopeCodec`. */
export interface BusCodec {
  encode(event: BusEvent): WireMessage;
  decode(message: WireMessage): Decoded;
}

export type Decoded =
  | { readonly ok: true; readonly event: BusEvent }
  | { readonly ok: false; readonly problem: string };

/**
 * - `down`: the bus can't be reached, or did not confirm in time; the event may have arrived.
 * - `full`: a durable name has no room.
 * - `too_large`, `invalid`: the event, or a setting, will never be taken.
 * - `given_up`: a consumer spent its tries, where `publish` waits for them (in process).
 * - `closed`: this bus was closed.
 * - `not_installed`: the driver's package is missing.
 */
export type BusErrorCode =
  | 'down'
  | 'full'
  | 'too_large'
  | 'invalid'
  | 'given_up'
  | 'closed'
  | 'not_installed';

export class BusError extends Error {
  override readonly name = 'BusError';
  readonly code: BusErrorCode;

  constructor(code: BusErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether trying again later can help. */
  get isRetryable(): boolean {
    return this.code === 'down' || this.code === 'full';
  }
}
