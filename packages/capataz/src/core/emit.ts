import type { JsonValue } from '../std/json.ts';

/** Something that a job says to the world outside, over the bus. */
export interface Emission {
  readonly exchange: string;
  /** Words between dots: what it is, and the routing key. */
  readonly name: string;
  readonly payload: JsonValue;
}

/** An emission as data, for `poll.emit`; in a handler `job.emit` does it. */
export function emit(exchange: string, name: string, payload: JsonValue): Emission {
  return { exchange, name, payload };
}
