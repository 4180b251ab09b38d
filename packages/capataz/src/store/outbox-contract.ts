import type { JsonValue } from '../std/json.ts';

/** What the store's verbs of outbox and dead letters speak of. */

/** An event as it is to be published. */
export interface OutboxEvent {
  readonly id: string;
  readonly jobId: string;
  /** Whose job it is; known also when that one is forgotten. */
  readonly client: string;
  /** Its place among the events of its job: 1, 2, 3 …, so that a missing one shows (H-w). */
  readonly sequence: number;
  readonly exchange: string;
  readonly name: string;
  readonly payload: JsonValue;
  readonly correlationId: string;
  readonly trace: string | null;
  readonly createdAt: number;
  /** Tries that failed. */
  readonly retryCount: number;
  readonly lastError: string | null;
}

export interface OutboxPage {
  readonly events: readonly OutboxEvent[];
  /** Ms from now until another may be tried again; null where none waits. */
  readonly nextInMs: number | null;
}

export type OutboxVerdict =
  | { readonly type: 'published'; readonly id: string }
  | {
      readonly type: 'failed';
      readonly id: string;
      readonly error: string;
      readonly retryAfterMs: number;
    }
  | { readonly type: 'dead'; readonly id: string; readonly error: string };

/** Dead letters stand in the order in which they were given up. */
export interface LetterPlace {
  readonly movedAt: number;
  readonly id: string;
}

export interface DeadLetterQuery {
  readonly limit: number;
  /** Only letters behind this place: that of the last of the page before. It need not be there any more. */
  readonly after?: LetterPlace;
  readonly client?: string;
  /** Of the event. */
  readonly name?: string;
  /** Of the job. */
  readonly jobId?: string;
  /** Of the events. */
  readonly ids?: readonly string[];
  /** Default: only unresolved ones. */
  readonly resolvedToo?: boolean;
}

/** Kept until an operator redrives or resolves it. */
export interface DeadLetter extends OutboxEvent {
  readonly movedAt: number;
  readonly resolvedAt: number | null;
  readonly resolvedBy: string | null;
  readonly notes: string | null;
}
