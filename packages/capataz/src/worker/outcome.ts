import { inspect } from 'node:util';
import type { ResultBody } from '../protocol/worker-api.ts';
import { cleanJson, cleanText, type JsonValue } from '../std/json.ts';

/** What a handler returns to end its task with a status of its own; made by `result`. */
export class WorkerResult {
  readonly status: string;
  readonly data: JsonValue | undefined;

  constructor(status: string, data?: JsonValue) {
    this.status = status;
    this.data = data;
  }
}

/** Ends the task with a status other than `success`: the blueprint's `on` says where it leads. */
export function result(status: string, data?: JsonValue): WorkerResult {
  return new WorkerResult(status, data);
}

/** An error whose class decides what becomes of the task. */
export class TaskError extends Error {
  /** RXON's code. */
  readonly code: string;
  readonly details: JsonValue | undefined;

  constructor(code: string, message: string, details?: JsonValue) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Worth another try: the task is run again by its retry policy. The default for whatever is thrown. */
export class TransientError extends TaskError {
  override readonly name = 'TransientError';

  constructor(message: string, details?: JsonValue) {
    super('TRANSIENT_ERROR', message, details);
  }
}

/** No further try can succeed: the job is quarantined until an operator looks at it. */
export class PermanentError extends TaskError {
  override readonly name = 'PermanentError';

  constructor(message: string, details?: JsonValue) {
    super('PERMANENT_ERROR', message, details);
  }
}

/** The parameters are wrong: the job fails at once. */
export class InvalidInputError extends TaskError {
  override readonly name = 'InvalidInputError';

  constructor(message: string, details?: JsonValue) {
    super('INVALID_INPUT_ERROR', message, details);
  }
}

type Identity = Pick<ResultBody, 'job_id' | 'task_id'>;

/** The report of a handler that returned. A value that JSON can't hold is a permanent error. */
export function reportOfValue(identity: Identity, returned: unknown): ResultBody {
  const isCustom = returned instanceof WorkerResult;
  const value = isCustom ? returned.data : returned;
  const status = isCustom ? returned.status : 'success';
  if (value === undefined) return { ...identity, status };
  const data = cleanJson(value);
  if (data !== undefined) return { ...identity, status, data };
  return reportOfError(
    identity,
    new PermanentError(
      'the handler returned a value that JSON cannot hold: a function, a bigint, a cycle or more than 64 levels',
    ),
  );
}

const longestMessage = 10_000;

/** The report of a handler that threw. */
export function reportOfError(identity: Identity, thrown: unknown): ResultBody {
  const isError = thrown instanceof Error;
  const message = cleanText(textOf(thrown).slice(0, longestMessage));
  if (!(thrown instanceof TaskError)) {
    const details = isError && thrown.name !== 'Error' ? { details: { name: thrown.name } } : {};
    return { ...identity, error: { code: 'TRANSIENT_ERROR', message, ...details } };
  }
  const details = thrown.details === undefined ? undefined : cleanJson(thrown.details);
  const error = { code: thrown.code, message };
  return { ...identity, error: details === undefined ? error : { ...error, details } };
}

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return typeof thrown === 'string' ? thrown : inspect(thrown, { depth: 2 });
}
