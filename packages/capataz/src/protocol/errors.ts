import type { JsonObject } from '../std/json.ts';

/**
 * The closed catalogue of everything that Capataz refuses. `status` is the HTTP answer (null: the
 * error stops a start and never reaches the wire), `retryable` says that the same request may
 * succeed later, `meaning` is the sentence of the documentation.
 */
export const errorCatalogue = {
  INVALID_JSON: entry(400, false, 'The body is not JSON.'),
  MALFORMED_REQUEST: entry(400, false, 'The request is not HTTP as it should be.'),
  JSON_TOO_DEEP: entry(400, false, 'The JSON is nested deeper than 64 levels.'),
  VALIDATION_FAILED: entry(
    400,
    false,
    'A field is missing, unknown, of the wrong type or out of range; `details.problems` lists every one with its path.',
  ),
  INPUT_INVALID: entry(400, false, "The job's input does not fit the blueprint's input schema."),
  FILE_NAME_INVALID: entry(
    400,
    false,
    "The name of a file would leave the job's folder, or is not a name that every store can keep.",
  ),
  NOT_SUPPORTED: entry(
    400,
    false,
    'The request asks for something that this version does not offer.',
  ),
  UNAUTHORIZED: entry(401, false, 'The token is missing, unknown or expired.'),
  FORBIDDEN: entry(403, false, 'The token is valid, but not for this.'),
  LINK_INVALID: entry(403, false, 'The link has expired, or was changed.'),
  NOT_FOUND: entry(404, false, 'There is no such route.'),
  JOB_NOT_FOUND: entry(404, false, 'There is no such job among the jobs of this client.'),
  DEAD_LETTER_NOT_FOUND: entry(
    404,
    false,
    'There is no such dead letter among the events of this client.',
  ),
  SCHEDULE_NOT_FOUND: entry(
    404,
    false,
    'There is no such schedule among those of this client’s jobs.',
  ),
  FILE_NOT_FOUND: entry(404, false, 'The job has no file of this name.'),
  BLUEPRINT_NOT_FOUND: entry(404, false, 'No blueprint of this name (and version) is registered.'),
  WORKER_NOT_FOUND: entry(404, false, 'The worker is not registered: it must register again.'),
  METHOD_NOT_ALLOWED: entry(405, false, 'The route exists, but not with this method.'),
  JOB_EXISTS: entry(409, false, 'A job with this id exists already.'),
  IDEMPOTENCY_CONFLICT: entry(409, false, 'The idempotency key was used with another body.'),
  ALREADY_FINAL: entry(409, false, 'The job has ended; a final status never changes.'),
  NOT_QUARANTINED: entry(409, false, 'Only a quarantined job can be redriven.'),
  WRONG_STATUS: entry(
    409,
    false,
    "The job's present status does not admit this; `details.status` names it.",
  ),
  INVALID_WORKER_STATE_TRANSITION: entry(
    409,
    false,
    'The worker cannot take this step from the status that it has; `details` has `worker_id`, `from_state`, `to_state` and `reason`. Nothing was changed.',
  ),
  SIGNAL_REFUSED: entry(
    409,
    false,
    'The job does not take this signal now; `details.reason` says why, and `details.takes` names the signals that it takes. It stands in the book of the job.',
  ),
  DECISION_REFUSED: entry(
    409,
    false,
    'The job waits for no such decision, or for one on other content; `details.reason` says which.',
  ),
  SKIPPED: entry(
    409,
    false,
    'A job of this concurrency key is open, and the start was to be skipped in that case.',
  ),
  ATTEMPT_NOT_CURRENT: entry(
    409,
    false,
    'The attempt has been given up or has ended: its reports change nothing.',
  ),
  CHANGED_MEANWHILE: entry(
    409,
    true,
    'The job was changed by many others at the same moment; try again.',
  ),
  PAYLOAD_TOO_LARGE: entry(
    413,
    false,
    'The body is larger than the configured limit, or has more than 250,000 commas and brackets.',
  ),
  UNSUPPORTED_MEDIA_TYPE: entry(415, false, 'Bodies are application/json.'),
  LIMIT: entry(
    429,
    true,
    'A quota, rate or concurrency limit is used up; `Retry-After` says when to come back.',
  ),
  INTERNAL: entry(
    500,
    false,
    'A bug in Capataz or in a blueprint function it called; the log has the stack.',
  ),
  NOT_READY: entry(503, true, 'The server is starting or stopping.'),
  FILES_BUSY: entry(503, true, 'As many files are being transferred as may be at once.'),
  FILES_UNAVAILABLE: entry(503, true, 'The place of the files does not answer, or is full.'),
  STORE_UNAVAILABLE: entry(
    503,
    true,
    'The store does not answer. Nothing was changed, unless the message says that this is unknown.',
  ),
  STORE_BUSY: entry(
    503,
    true,
    'What this changes has been locked by somebody else for a second: another server that was frozen in the middle of a commit, or a session of an operator. Nothing was changed.',
  ),
  CIRCUIT_OPEN: entry(
    503,
    true,
    'What this needs kept failing and is left alone for a while; nothing was tried. `details.retry_after_ms` says when to come back.',
  ),
  CONFIG_INVALID: entry(
    null,
    false,
    'A configuration file, variable or flag is wrong; file, entry and field are named.',
  ),
  BLUEPRINT_INVALID: entry(
    null,
    false,
    'A blueprint breaks a rule of registration; blueprint, state and target are named.',
  ),
  BLUEPRINT_CHANGED: entry(
    null,
    false,
    'A blueprint has another graph than when its version was first registered: raise the version.',
  ),
  STORE_IN_USE: entry(null, false, 'Another process works on the store.'),
  STORE_NEWER: entry(
    null,
    false,
    'The store was written by a newer version that this one cannot read.',
  ),
  STORE_MOVED: entry(
    null,
    false,
    'What the store holds was moved to another one, which is to be used in its place.',
  ),
  STORE_INCOMPLETE: entry(
    null,
    false,
    'A move into the store was broken off: run it again, or go on with its source.',
  ),
  STORE_NOT_EMPTY: entry(null, false, 'The target of a move holds something already.'),
  CALL_TIMEOUT: entry(null, true, 'A guarded call took longer than its limit and was aborted.'),
  UNREACHABLE: entry(null, true, 'The server could not be reached.'),
  WAIT_TIMEOUT: entry(null, true, 'The job did not end within the time to wait; it goes on.'),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof errorCatalogue;

export interface CatalogueEntry {
  readonly status: number | null;
  readonly retryable: boolean;
  readonly meaning: string;
}

function entry(status: number | null, retryable: boolean, meaning: string): CatalogueEntry {
  return { status, retryable, meaning };
}

/** The body of every error answer of the client API. */
export interface ErrorBody {
  readonly error: string;
  readonly code: ErrorCode;
  readonly details?: JsonObject;
}

/**
 * A refusal with a stable code and one sentence for people that says what to do.
 * Anything else that is thrown is a bug and becomes INTERNAL at the edge.
 */
export class CapatazError extends Error {
  override readonly name = 'CapatazError';
  readonly code: ErrorCode;
  readonly details: JsonObject | undefined;

  constructor(code: ErrorCode, message: string, details?: JsonObject, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return errorCatalogue[this.code].status ?? 500;
  }

  get retryable(): boolean {
    return errorCatalogue[this.code].retryable;
  }

  toBody(): ErrorBody {
    const body = { error: this.message, code: this.code };
    return this.details === undefined ? body : { ...body, details: this.details };
  }
}

/** When to come back, in ms, where an error says it (LIMIT and the 503s): `details.retry_after_ms`. */
export function retryAfterMs(error: CapatazError): number | undefined {
  const value = error.details?.retry_after_ms;
  return typeof value === 'number' ? value : undefined;
}
