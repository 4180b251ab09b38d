import { type JsonObject, type RunningJob, retry, transition } from 'capataz';
import type { Usage } from '../contract/payloads.ts';
import { note, recordOf, type TaskInput } from './record.ts';
import { withCost } from './results.ts';
import type { TaskRules } from './rules.ts';

/** What went wrong, as the feedback model is told. */
export interface Failure {
  readonly taskId: string;
  readonly prompt: string;
  readonly plan: JsonObject | null;
  readonly pullRequestUrl: string | null;
  readonly diff: string | null;
  readonly log: string;
  /** Of code: 1 for the first. */
  readonly round: number;
}

export interface Correction {
  /** What the agent shall do about it. */
  readonly text: string;
  readonly usage: Usage | null;
}

/** The internal model that reads the log of a failed test. */
export interface FeedbackModel {
  /** Called again after a crash or a failure, so it has no effects. @throws where it can't be reached */
  correct(failure: Failure, options: { readonly signal: AbortSignal }): Promise<Correction>;
}

/** The store under which the application gives the model to its blueprint. */
export const feedbackStore = 'feedback';

/** Gets a correction and goes on with it. */
export async function runFeedback(job: RunningJob<TaskInput>, rules: TaskRules) {
  const { plan, pullRequestUrl, diff, failureLog, round } = recordOf(job);
  const failure: Failure = {
    ...{ taskId: job.id, prompt: job.input.prompt, plan: plan?.content ?? null },
    ...{ pullRequestUrl, diff, log: failureLog ?? '', round },
  };
  const { text, usage } = await modelIn(job.stores).correct(failure, { signal: job.signal });
  const isOver = withCost(job, usage, rules);
  if (isOver) return transition('FALLIDA_LOGICA');
  if (text.trim() === '')
    return retry({ class: 'unusable', reason: 'the feedback model gave no text' });
  note(job, { correction: text });
  return transition('EJECUTANDO_CODIGO');
}

function modelIn(stores: Readonly<Record<string, unknown>>): FeedbackModel {
  const model = stores[feedbackStore];
  if (isModel(model)) return model;
  throw new Error(`there is no store "${feedbackStore}"`);
}

function isModel(value: unknown): value is FeedbackModel {
  return typeof value === 'object' && value !== null && 'correct' in value;
}
