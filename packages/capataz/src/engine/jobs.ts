import type { Blueprint } from '../core/blueprint.ts';
import type { StoredEntry } from '../core/history.ts';
import type { Concurrency, Job } from '../core/job.ts';
import { attributesProblem, concurrencyProblem, newJob } from '../core/new-job.ts';
import { type RefusalReason, refusalReasons, type Signal } from '../core/signal.ts';
import type { WhyView } from '../protocol/client-api.ts';
import { CapatazError } from '../protocol/errors.ts';
import { InternalError } from '../std/assert.ts';
import type { JsonValue } from '../std/json.ts';
import type { Random } from '../std/random.ts';
import type { ChangeOutcome, ChangeRequest, JobQuery, Store } from '../store/contract.ts';
import type { Books } from './books.ts';
import type { Committer } from './committer.ts';
import type { Decider } from './decider.ts';
import type { Executor } from './executor.ts';
import { validInput } from './input.ts';
import type { CreatedJob, CreateJob, JobsPort, Progress } from './ports.ts';
import type { Registry } from './registry.ts';
import { wakesOf } from './wakes.ts';
import type { WhyReader } from './why.ts';

export interface JobsParts {
  readonly store: Store;
  readonly books: Books;
  readonly registry: Registry;
  readonly decider: Decider;
  readonly committer: Committer;
  readonly why: WhyReader;
  readonly random: Random;
  readonly executor: Executor;
  readonly progress: (jobId: string) => Progress | null;
}

const maxPriority = 1_000;

interface Prepared extends ChangeRequest {
  /** Decides anew, knowing which keys are full. */
  readonly again: (full: ReadonlyMap<string, number | null>) => ChangeRequest;
}

/** A start that names more full keys than this has no use for any of them. */
const maxRounds = 10;

function isFinalRefusal({ options: { concurrency } }: Job, key: string): boolean {
  return concurrency?.key === key && concurrency.onBusy !== 'queue';
}

/** What clients ask of jobs. */
export class Jobs implements JobsPort {
  readonly #parts: JobsParts;

  constructor(parts: JobsParts) {
    this.#parts = parts;
  }

  async create(requests: readonly CreateJob[]): Promise<(CreatedJob | CapatazError)[]> {
    const prepared = await Promise.all(requests.map((request) => this.#prepare(request)));
    const wanted = prepared.flatMap((item) => (item instanceof CapatazError ? [] : [item]));
    const outcomes = await this.#store(wanted);
    let next = 0;
    return prepared.map((item) => {
      if (item instanceof CapatazError) return item;
      const result = outcomes[next];
      next += 1;
      return createAnswer(item.change.job, result);
    });
  }

  /** What finds a key full is decided anew, knowing that: it may wait for it, or do something else. */
  async #store(wanted: readonly Prepared[]): Promise<ChangeOutcome[]> {
    const outcomes = await this.#commit(wanted);
    const full = wanted.map(() => new Map<string, number | null>());
    for (let round = 1; round < maxRounds; round += 1) {
      const again = wanted.flatMap((item, index) => {
        const outcome = outcomes[index];
        if (outcome?.type !== 'limit' || isFinalRefusal(item.change.job, outcome.key)) return [];
        full[index]?.set(outcome.key, outcome.retryAfterMs);
        return [{ index, item: item.again(full[index] ?? new Map()) }];
      });
      if (again.length === 0) break;
      const next = await this.#commit(again.map(({ item }) => item));
      for (const [place, { index }] of again.entries()) {
        const outcome = next[place];
        if (outcome !== undefined) outcomes[index] = outcome;
      }
    }
    return outcomes;
  }

  async #commit(wanted: readonly ChangeRequest[]): Promise<ChangeOutcome[]> {
    if (wanted.length === 0) return [];
    const changes = wanted.map(({ change, idempotency }) =>
      idempotency === undefined ? { change } : { change, idempotency },
    );
    const wakes = changes.flatMap(({ change }) => wakesOf(change, null));
    const outcome = await this.#parts.committer.commit({ changes }, wakes);
    return [...outcome.changes];
  }

  async #prepare(request: CreateJob): Promise<Prepared | CapatazError> {
    try {
      const blueprint = this.#parts.registry.get(request.blueprint, request.version);
      const input = await validInput(blueprint, request.input);
      const job = jobOf(blueprint, input, request, this.#parts.random);
      const { decider } = this.#parts;
      const { startDelayMs = 0, idempotency } = request;
      const decided = (full: ReadonlyMap<string, number | null>): ChangeRequest => ({
        change: decider.create(job, blueprint, startDelayMs, full),
        ...(idempotency === undefined ? {} : { idempotency }),
      });
      return { ...decided(new Map()), again: decided };
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
    return this.#parts.books.history(id, after, limit);
  }

  cancel(id: string, actor: string, reason: string): Promise<Job> {
    return this.#signal(id, { type: 'cancel', actor, reason });
  }

  redrive(id: string, actor: string): Promise<Job> {
    return this.#signal(id, { type: 'redrive', actor });
  }

  dismiss(id: string, actor: string, reason: string): Promise<Job> {
    return this.#signal(id, { type: 'dismiss', actor, reason });
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

function createAnswer(
  { id, options: { concurrency } }: Job,
  result: ChangeOutcome | undefined,
): CreatedJob | CapatazError {
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
      if (concurrency?.key === result.key && concurrency.onBusy === 'skip') {
        return new CapatazError('SKIPPED', `an open job holds "${result.key}"`, {
          key: result.key,
        });
      }
      return new CapatazError('LIMIT', `the limit of "${result.key}" is used up`, {
        key: result.key,
        ...(result.retryAfterMs === null ? {} : { retry_after_ms: result.retryAfterMs }),
      });
    default:
      throw new InternalError(`the store answered ${result?.type} for a new job`);
  }
}

function jobOf(blueprint: Blueprint, input: JsonValue, request: CreateJob, random: Random): Job {
  const id = request.id ?? random.id();
  const { priority = 0, concurrency } = request;
  if (!(Math.abs(priority) <= maxPriority)) {
    throw new CapatazError(
      'VALIDATION_FAILED',
      `priority must be from -${maxPriority} to ${maxPriority}, not ${priority}`,
    );
  }
  const problem = concurrency === undefined ? null : concurrencyProblem(concurrency);
  if (problem !== null) throw new CapatazError('VALIDATION_FAILED', `concurrency has ${problem}`);
  const strange = attributesProblem(request.attributes ?? {});
  if (strange !== null) throw new CapatazError('VALIDATION_FAILED', `attributes have ${strange}`);
  const own = concurrency === undefined ? {} : { concurrency: ownKey(request.client, concurrency) };
  try {
    return newJob(blueprint, { ...request, ...own, id, input, priority });
  } catch (error) {
    throw new CapatazError('INPUT_INVALID', (error as Error).message, undefined, error);
  }
}

/** Clients don't know of each other, and their keys don't either. A blueprint's own are everybody's. */
function ownKey(client: string, concurrency: Concurrency): Concurrency {
  return { ...concurrency, key: `${client}/${concurrency.key}` };
}
