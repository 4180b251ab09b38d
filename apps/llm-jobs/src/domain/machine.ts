import { z } from 'zod';
import { tiers } from '../models/contract.ts';
import { type Failure, type FailureKind, failureKind } from './failure.ts';
import { type RetryConfig, retryConfig } from './retry.ts';

/** The life of a job, as a pure function of the job and of what its present state brought. */

/** `Init` validates, `DefineAgent` routes, `Process` asks the model, `End` writes the record. */
export const states = ['Init', 'DefineAgent', 'Process', 'End'] as const;
export type State = (typeof states)[number];

export const statuses = ['Pending', 'InProgress', 'Completed', 'Failed'] as const;
export type Status = (typeof statuses)[number];

export const agent = z.strictObject({ skill: z.string(), model: z.enum(tiers) });
export type Agent = z.infer<typeof agent>;

const instant = z.iso.datetime();

/** The seed's job, and beside its fields the failure that was met last. */
export const jobFields = {
  id: z.uuid(),
  description: z.string(),
  status: z.enum(statuses),
  state: z.enum(states),
  state_history: z.array(z.enum(states)),
  retry_count: z.int().nonnegative(),
  retry_config: retryConfig,
  agent: agent.nullable(),
  llm_response: z.string().nullable(),
  created_at: instant,
  updated_at: instant,
  failure: failureKind.nullable(),
  permanent: z.boolean(),
} as const;

const job = z.strictObject(jobFields);
export type Job = z.infer<typeof job>;

/** What the present state of a job came to. */
export type Outcome = { readonly type: 'success' } | ({ readonly type: 'failure' } & Failure);

export const success: Outcome = { type: 'success' };

export type Transition =
  | { readonly type: 'next'; readonly state: State }
  | { readonly type: 'retry'; readonly state: State; readonly reason: FailureKind }
  | { readonly type: 'complete'; readonly outcome: Outcome };

/** A job that has ended is asked to go on (W-f). */
export class JobEndedError extends Error {
  override readonly name = 'JobEndedError';
  readonly status: Status;

  constructor({ id, status }: Pick<Job, 'id' | 'status'>) {
    super(`job ${id} is ${status}: it has ended`);
    this.status = status;
  }
}

const following = { Init: 'DefineAgent', DefineAgent: 'Process', Process: 'End' } as const;

export function newJob({ id, description, retryConfig }: NewJob, now: number): Job {
  const at = new Date(now).toISOString();
  return {
    id,
    description,
    status: 'Pending',
    state: 'Init',
    state_history: [],
    retry_count: 0,
    retry_config: retryConfig,
    agent: null,
    llm_response: null,
    created_at: at,
    updated_at: at,
    failure: null,
    permanent: false,
  };
}

interface NewJob {
  readonly id: string;
  readonly description: string;
  readonly retryConfig: RetryConfig;
}

/**
 * Writes the visit of the present state into the history, judges it, moves the job, and says how.
 * Only Process tries again; its retries are counted when they begin, so that the count never goes
 * above the limit (W-c).
 * @throws JobEndedError for a job that has ended, to which nothing is appended
 */
export function next<J extends Job>(
  job: J,
  outcome: Outcome,
  now: number,
): { readonly job: J; readonly transition: Transition } {
  if (isEnded(job)) throw new JobEndedError(job);
  const transition = judge(job, outcome);
  const moved: J = {
    ...job,
    state_history: [...job.state_history, job.state],
    ...(outcome.type === 'failure'
      ? { failure: outcome.kind, permanent: outcome.permanent }
      : { failure: null, permanent: false }),
    ...changeOf(job, transition),
    updated_at: new Date(now).toISOString(),
  };
  return { job: moved, transition };
}

export function isEnded({ status }: Pick<Job, 'status'>): boolean {
  return status === 'Completed' || status === 'Failed';
}

function judge(job: Job, outcome: Outcome): Transition {
  if (outcome.type === 'success') {
    if (job.state === 'End') return { type: 'complete', outcome };
    return { type: 'next', state: following[job.state] };
  }
  const isTriedAgain =
    job.state === 'Process' && !outcome.permanent && job.retry_count < job.retry_config.max_retries;
  if (!isTriedAgain) return { type: 'complete', outcome };
  return { type: 'retry', state: job.state, reason: outcome.kind };
}

/** Completed comes with the judgement of End and not before (W-e). */
function changeOf(job: Job, transition: Transition): Partial<Job> {
  switch (transition.type) {
    case 'next':
      return { state: transition.state, status: 'InProgress' };
    case 'retry':
      return { status: 'InProgress', retry_count: job.retry_count + 1 };
    case 'complete':
      return { status: transition.outcome.type === 'success' ? 'Completed' : 'Failed' };
  }
}
