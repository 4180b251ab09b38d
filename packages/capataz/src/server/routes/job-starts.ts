import { createHash } from 'node:crypto';
import type { Concurrency } from '../../core/job.ts';
import type { CreatedJob, CreateJob } from '../../engine/ports.ts';
import type { BatchJobAnswer, StartJobAnswer, StartJobBody } from '../../protocol/client-api.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { canonicalJson, isJsonObject, type JsonValue } from '../../std/json.ts';
import type { ServerContext } from '../context.ts';
import {
  startJobAnswer,
  startJobBody,
  startJobsAnswer,
  startJobsBody,
} from '../docs/client-schemas.ts';
import { maxBatchJobs } from '../limits.ts';
import { check } from '../parse/check.ts';
import { validationFailed } from '../parse/fields.ts';
import { idempotencyKey } from '../parse/headers.ts';
import { type Answer, type Call, param, type Route } from '../route.ts';
import { clientOf } from './client-of.ts';
import { refusalOr, refusedAnswer } from './refused.ts';

const operation = {
  params: { blueprint: "The blueprint's name." },
  headers: {
    'Idempotency-Key':
      'A repetition with the same key and body is answered with the first job; in a batch each job has the key with its place.',
    'X-Correlation-ID':
      "Links the job's book, events, and log lines: 1 to 128 of A-Z a-z 0-9 . _ : -. Default, also for what can't be read: a new UUID. The answer has it.",
    traceparent: 'W3C trace context.',
  },
  errors: ['INPUT_INVALID', 'NOT_SUPPORTED', 'BLUEPRINT_NOT_FOUND', 'LIMIT'],
} as const;

/** S-10. */
export function jobStartRoutes(context: ServerContext): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/jobs/{blueprint}',
      area: 'client',
      operation: {
        ...operation,
        id: 'startJob',
        summary: 'Starts a job',
        body: startJobBody,
        answers: { 202: { description: 'It is stored', body: startJobAnswer } },
        errors: [...operation.errors, 'JOB_EXISTS', 'IDEMPOTENCY_CONFLICT', 'SKIPPED'],
      },
      handle: (call) => startOne(context, call),
    },
    {
      method: 'POST',
      path: '/api/v1/jobs/{blueprint}/batch',
      area: 'client',
      operation: {
        ...operation,
        id: 'startJobs',
        summary: 'Starts up to 1,000 jobs in one commit',
        description: 'A refused one harms none of the others.',
        body: startJobsBody,
        answers: { 202: { description: 'In the order of the request', body: startJobsAnswer } },
      },
      handle: (call) => startMany(context, call),
    },
  ];
}

async function startOne({ engine, log }: ServerContext, call: Call): Promise<Answer> {
  const request = toCreate(call, call.request.body as JsonValue | undefined, headersOf(call));
  const [created] = await engine.jobs.create([request]);
  const answer = startAnswer(created);
  if (answer instanceof CapatazError) throw answer;
  log.debug('a job was started', {
    job: answer.job_id,
    correlation: call.request.correlation,
    client: request.client,
    blueprint: request.blueprint,
  });
  return { status: 202, json: answer };
}

async function startMany({ engine, log }: ServerContext, call: Call): Promise<Answer> {
  const { body } = call.request;
  if (!Array.isArray(body) || body.length === 0 || body.length > maxBatchJobs) {
    const message = `the body must be an array of 1 to ${maxBatchJobs} jobs`;
    throw validationFailed([{ path: '', message }]);
  }
  const headers = headersOf(call);
  const parsed = body.map((item: JsonValue, index): CreateJob | CapatazError =>
    refusalOr(() => toCreate(call, item, forPlace(headers, index))),
  );
  const requests = parsed.filter((item): item is CreateJob => !(item instanceof CapatazError));
  const created = requests.length === 0 ? [] : await engine.jobs.create(requests);
  let next = 0;
  const answers = parsed.map((item): BatchJobAnswer => {
    if (item instanceof CapatazError) return refusedAnswer(item);
    const answer = startAnswer(created[next]);
    next += 1;
    return answer instanceof CapatazError ? refusedAnswer(answer) : answer;
  });
  const { correlation } = call.request;
  log.debug('jobs were started', {
    client: clientOf(call).name,
    correlation,
    count: answers.length,
  });
  return { status: 202, json: answers };
}

interface StartHeaders {
  readonly key: string | undefined;
  readonly trace: string | undefined;
}

/** @throws VALIDATION_FAILED */
function headersOf({ request }: Call): StartHeaders {
  return { key: idempotencyKey(request), trace: traceparent(request.headers.traceparent) };
}

/** A trace context that is none is passed over, as its specification asks. */
function traceparent(value: string | string[] | undefined): string | undefined {
  const isValid =
    typeof value === 'string' && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}/.test(value);
  return isValid ? value : undefined;
}

function forPlace(headers: StartHeaders, index: number): StartHeaders {
  return headers.key === undefined ? headers : { ...headers, key: `${headers.key}#${index}` };
}

/** @throws NOT_SUPPORTED, VALIDATION_FAILED */
function toCreate(call: Call, body: JsonValue | undefined, headers: StartHeaders): CreateJob {
  const given = body ?? {};
  if (isJsonObject(given) && Object.hasOwn(given, 'webhook_url')) {
    throw new CapatazError('NOT_SUPPORTED', 'webhook_url is not offered yet: watch the job.');
  }
  const start: StartJobBody = check(startJobBody, given);
  const blueprint = param(call.request, 'blueprint');
  return {
    blueprint,
    client: clientOf(call).name,
    input: start.initial_data ?? {},
    ...defined({
      id: start.job_id?.toLowerCase(),
      priority: start.priority,
      attributes: start.attributes,
      metadata: start.metadata,
      dispatchTimeoutMs: milliseconds(start.dispatch_timeout),
      resultTimeoutMs: milliseconds(start.result_timeout),
      startDelayMs: milliseconds(start.start_delay),
      concurrency: concurrencyOf(start),
      correlationId: call.request.correlation,
      trace: headers.trace,
      idempotency:
        headers.key === undefined
          ? undefined
          : { key: headers.key, bodyHash: hashOf([blueprint, given]) },
    }),
  };
}

function concurrencyOf({ concurrency }: StartJobBody): Concurrency | undefined {
  if (concurrency === undefined) return undefined;
  const { key, limit, on_busy: onBusy = 'queue' } = concurrency;
  return { key, limit, onBusy };
}

/** Without the members that are undefined, which exact optional types refuse. */
function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  // Only the undefined ones were left out.
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1_000);
}

function hashOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function startAnswer(
  created: CreatedJob | CapatazError | undefined,
): StartJobAnswer | CapatazError {
  if (created === undefined) return new CapatazError('INTERNAL', 'the engine gave no answer');
  return created instanceof CapatazError ? created : { status: 'accepted', job_id: created.id };
}
