import type { JsonValue } from '../std/json.ts';

/** Events that no bus would take, on the client's wire. */

export interface DeadLetterView {
  /** Of the event. */
  readonly id: string;
  readonly job_id: string;
  readonly correlation_id: string;
  readonly exchange: string;
  readonly name: string;
  readonly payload: JsonValue;
  /** Its place among the events of its job, from 1. */
  readonly sequence: number;
  /** Tries in all. */
  readonly tries: number;
  /** What the last try said. */
  readonly error: string;
  /** When the job emitted it. */
  readonly created_at: string;
  readonly moved_at: string;
  readonly resolved_at: string | null;
  readonly resolved_by: string | null;
  readonly notes: string | null;
}

export interface DeadLettersAnswer {
  readonly dead_letters: readonly DeadLetterView[];
  /** Give it as `after` for the next page; null at the end. */
  readonly next: string | null;
}

/** `POST /api/v1/dead-letters/redrive`. */
export interface RedriveLettersBody {
  readonly ids: readonly string[];
}

/** `POST /api/v1/dead-letters/resolve`. */
export interface ResolveLettersBody {
  readonly ids: readonly string[];
  /** Why nothing more is to be done. Default: nothing. */
  readonly notes?: string;
}

export interface SettledLettersAnswer {
  /** Those of the request that were there and unresolved. */
  readonly ids: readonly string[];
}
