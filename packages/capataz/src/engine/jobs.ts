import type { Blueprint } from '../core/blueprint.ts';
import type { StoredEntry } from '../core/history.ts';
import type { Job } from '../core/job.ts';
import { type RefusalReason, refusalReasons, type Signal } from '../core/signal.ts';
import type { StandardIssue } from '../core/standard-schema.ts';
import type { WhyView } from '../protocol/client-api.ts';
import { CapatazError } from '../protocol/errors.ts';
import { InternalError } from '../std/assert.ts';
import { cleanJson, type JsonValue } from '../std/json.ts';
import type { Random } from '../std/random.ts';
import type { ChangeOutcome, ChangeRequest, JobQuery, Store } from '../store/contract.ts';
import type { Committer } from './committer.ts';
import type { Decider } from './decider.ts';
import type { Executor } from './executor.ts';
import { wakesOf } from './lobby.ts';
import type { CreatedJob, CreateJob, JobsPort, Progress } from './ports.ts';
import type { Registry } from './registry.ts';
import type { WhyReader } from './why.ts';

export interface JobsParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly decider: Decider;
  readonly committer: Committer;
  readonly why: WhyReader;
  readonly random: Random;
  readonly executor: Executor;
  readonly progress: (jobId: string) => Progress | null;
}

const maxPriority = 1_000;

/** What clients ask of jobs. */
export class Jobs implements JobsPort {
  readonly #parts: JobsParts;

  constructor(parts: JobsParts) {
    this.#parts = parts;
  }

  async create(requests: readonly CreateJob[]): Promise<(CreatedJob | CapatazError)[]> {
    const prepared = await Promise.all(requests.map((request) => this.#prepare(request)));
    const changes = prepared.flatMap((item) => (item instanceof CapatazError ? [] : [item]));
    const wakes = changes.flatMap(({ change }) => wakesOf(change, null));
    const outcome =
      changes.length === 0 ? null : await this.#parts.committer.commit({ changes }, wakes);
    let next = 0;
    return prepared.map((item) => {
      if (item instanceof CapatazError) return item;
      const result = outcome?.changes[next];
      next += 1;
      return createAnswer(item.change.job.id, result);
    });
  }

  async #prepare(request: CreateJob): Promise<ChangeRequest | CapatazError> {
    try {
      const blueprint = this.#parts.registry.get(request.blueprint, request.version);
      const input = await validInput(blueprint, request.input);
      const job = newJob(blueprint, input, request, this.#parts.random);
      const change = this.#parts.decider.create(job, blueprint, request.startDelayMs ?? 0);
      return request.idempotency === undefined
        ? { change }
        : { change, idempotency: request.idempotency };
    } catch (error) {
      if (error instanceof CapatazError) return error;
      throw error;
    }
  }

  async get(id: string, client: string | null): Promise<Job> {
    const job = await this.#parts.store.job(id);
    if (job !== null && (client === null || job.client === client)) return job;
    throw new CapatazError('JOB_NOT_FOUND', `there is no job ${id}`);
  }

  list(query: JobQuery): Promise<Job[]> {
    return this.#parts.store.jobs(query);
  }

  history(id: string, after: number, limit: number): Promise<StoredEntry[]> {
    return this.#parts.store.history(id, after, limit);
  }

  cancel(id: string, actor: string, reason: string): Promise<Job> {
    return this.#signal(id, { type: 'cancel', actor, reason });
  }

  redrive(id: string, actor: string): Promise<Job> {
    return this.#signal(id, { type: 'redrive', actor });
  }

  hold(id: string, actor: string): Promise<Job> {
    return this.#signal(id, { type: 'hold', actor });
  }

  async release(id: string, actor: string): Promise<Job> {
    const job = await this.#signal(id, { type: 'release', actor });
    // What the hold kept back did not announce itself when it was queued.
    await this.#parts.committer.handOutBacklog();
    await this.#parts.executor.sweep();
    return job;
  }

  why(id: string): Promise<WhyView> {
    return this.#parts.why.read(id);
  }

  progress(id: string): Progress | null {
    return this.#parts.progress(id);
  }

  async #signal(jobId: string, signal: Signal): Promise<Job> {
    const applied = await this.#parts.decider.one({ jobId, signal: () => signal });
    if (applied.type === 'done') return applied.job;
    if (applied.type === 'refused') throw refusal(jobId, applied.reason, applied.job);
    throw new CapatazError(
      'BLUEPRINT_NOT_FOUND',
      `this server does not hold blueprint "${applied.job.blueprint}" version ${applied.job.blueprintVersion} of job ${jobId}`,
    );
  }
}

function refusal(jobId: string, reason: RefusalReason, job: Job | null): CapatazError {
  const details = { reason, ...(job === null ? {} : { status: job.status }) };
  switch (reason) {
    case 'job_not_found':
      return new CapatazError('JOB_NOT_FOUND', `there is no job ${jobId}`);
    case 'job_already_terminated':
    case 'job_cancelled':
      return new CapatazError('ALREADY_FINAL', `job ${jobId} is ${job?.status} already`, details);
    case 'not_quarantined':
      return new CapatazError(
        'NOT_QUARANTINED',
        `job ${jobId} is ${job?.status}, not quarantined`,
        details,
      );
    default:
      return new CapatazError('WRONG_STATUS', `job ${jobId}: ${refusalReasons[reason]}`, details);
  }
}

function createAnswer(id: string, result: ChangeOutcome | undefined): CreatedJob | CapatazError {
  switch (result?.type) {
    case 'done':
      return { id, created: true };
    case 'duplicate':
      return { id: result.jobId, created: false };
    case 'conflict':
      return new CapatazError(
        'IDEMPOTENCY_CONFLICT',
        'the idempotency key was used with another body',
      );
    case 'exists':
      return new CapatazError('JOB_EXISTS', `there is a job ${id} already`);
    case 'limit':
      return new CapatazError('LIMIT', `the limit of "${result.key}" is used up`, {
        key: result.key,
        ...(result.retryAfterMs === null ? {} : { retry_after_ms: result.retryAfterMs }),
      });
    default:
      throw new InternalError(`the store answered ${result?.type} for a new job`);
  }
}

function newJob(blueprint: Blueprint, input: JsonValue, request: CreateJob, random: Random): Job {
  const id = request.id ?? random.id();
  const priority = request.priority ?? 0;
  if (!(Math.abs(priority) <= maxPriority)) {
    throw new CapatazError(
      'VALIDATION_FAILED',
      `priority must be from -${maxPriority} to ${maxPriority}, not ${priority}`,
    );
  }
  return {
    id,
    version: 0,
    blueprint: blueprint.name,
    blueprintVersion: blueprint.version,
    client: request.client,
    status: 'pending',
    state: blueprint.start,
    entry: 0,
    hops: 0,
    failures: 0,
    held: false,
    wait: null,
    lease: null,
    resume: null,
    input,
    data: {},
    options: {
      priority,
      attributes: request.attributes ?? {},
      metadata: request.metadata ?? {},
      dispatchTimeoutMs: request.dispatchTimeoutMs ?? null,
      resultTimeoutMs: request.resultTimeoutMs ?? null,
    },
    correlationId: request.correlationId ?? id,
    trace: request.trace ?? null,
    result: null,
    error: null,
    createdAt: 0,
    enteredAt: 0,
    endedAt: null,
  };
}

/** The input as the blueprint's schema returns it, so that its defaults count. */
async function validInput(blueprint: Blueprint, input: JsonValue): Promise<JsonValue> {
  if (blueprint.input === null) return input;
  const result = await blueprint.input['~standard'].validate(input);
  if (result.issues !== undefined) {
    const problems = result.issues.map(issueText);
    throw new CapatazError(
      'INPUT_INVALID',
      `the input of blueprint "${blueprint.name}": ${problems.join('; ')}`,
      { problems },
    );
  }
  const value = cleanJson(result.value);
  if (value !== undefined) return value;
  throw new CapatazError(
    'INPUT_INVALID',
    `the input schema of blueprint "${blueprint.name}" gives what JSON can't hold`,
  );
}

function issueText({ message, path }: StandardIssue): string {
  const where = path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return where === undefined || where === '' ? message : `${where}: ${message}`;
}
