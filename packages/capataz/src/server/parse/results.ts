import type { Report } from '../../core/signal.ts';
import type { TaskReport } from '../../engine/ports.ts';
import type { JsonValue } from '../../std/json.ts';
import { Fields } from './fields.ts';

export interface ParsedResult {
  /** Whom the body says it is from, if it says so. */
  readonly worker: string | undefined;
  readonly report: TaskReport;
}

export interface ParsedResults {
  readonly results: readonly ParsedResult[];
  /** Further tasks that the worker has room for. */
  readonly want: number;
}

/** @throws VALIDATION_FAILED */
export function parseResult(body: JsonValue | undefined): ParsedResult {
  return Fields.readAll(body, readResult);
}

/** @throws VALIDATION_FAILED, for the whole post: a batch comes from one SDK and is right or wrong as one. */
export function parseResults(body: JsonValue | undefined, maxResults: number): ParsedResults {
  return Fields.readAll(body, (fields) => {
    if (fields.value('results') === undefined) fields.refuse('results', 'is required');
    return {
      results: fields.objects('results', readResult, maxResults) ?? [],
      want: fields.integer('want', { min: 0, max: maxResults }) ?? 0,
    };
  });
}

function readResult(fields: Fields): ParsedResult {
  const handedBack = fields.oneOf('handed_back', ['started', 'not_started']);
  return {
    worker: fields.string('worker_id', 200),
    report: {
      jobId: fields.requiredString('job_id'),
      attempt: fields.requiredString('task_id'),
      report: handedBack === undefined ? readReport(fields) : { handedBack },
    },
  };
}

function readReport(fields: Fields): Report {
  const status = fields.string('status', 200);
  const data = fields.value('data');
  return {
    ...(status === undefined ? {} : { status }),
    ...(data === undefined ? {} : { data }),
    ...(fields.object('error') === undefined ? {} : { error: readError(fields.fields('error')) }),
  };
}

function readError(fields: Fields): NonNullable<Report['error']> {
  const details = fields.value('details');
  return {
    code: fields.string('code', 200) ?? 'TRANSIENT_ERROR',
    message: fields.string('message', Number.POSITIVE_INFINITY) ?? '',
    ...(details === undefined ? {} : { details }),
  };
}
