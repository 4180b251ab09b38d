import { type Action, type Blueprint, blueprint, type RunningJob } from 'capataz';
import { type Clock, delay } from 'capataz/server';
import { auditRecord } from '../books/audit-record.ts';
import { failureOf } from '../domain/failure.ts';
import { newJob, next, success } from '../domain/machine.ts';
import { advance, type JobState } from './advance.ts';
import { overBudget } from './budget.ts';
import { makeCall } from './call.ts';
import { classified } from './classification.ts';
import { withTier } from './fallback.ts';
import { type JobInput, jobInput, problemsOf, tierNamed } from './input.ts';
import { blueprintName } from './names.ts';
import { partsIn } from './parts.ts';
import { admitCall, planCall } from './plan.ts';
import { type LlmJob, newRecord, openCall, recordOf } from './record.ts';
import type { JobRules } from './rules.ts';

/** What the engine itself has to try again: a store that is away, a server that died. Retries of calls are none. */
const engineRetry = { max: 100, base: '1s', cap: '60s' } as const;
/** Before the second and each further try to store a record. */
const recordDelaysMs = [100, 400, 1_000, 2_500];

/**
 * Init → DefineAgent → Process → End. What a client sees as these four lies in the job's record;
 * `Admission`, `Call` and `Budget` are what Process (and a classification, in DefineAgent) is made of.
 */
export function llmBlueprint(rules: JobRules): Blueprint {
  return blueprint<JobState, JobInput>({
    name: blueprintName,
    version: 1,
    input: jobInput,
    states: {
      Init: { start: true, to: ['DefineAgent'], handle: (job) => begin(job, rules) },
      DefineAgent: {
        to: ['Process', 'Admission', 'Budget'],
        handle: (job) => defineAgent(job, rules),
      },
      Process: { to: ['Admission', 'Budget'], handle: (job) => planAnswer(job, rules) },
      Admission: { to: ['Call'], handle: (job) => admitCall(openCall(recordOf(job)), rules) },
      Call: {
        to: ['End', 'Process', 'DefineAgent'],
        retry: engineRetry,
        timeout: `${rules.callTimeoutMs}ms`,
        run: (job) => makeCall(job, rules),
      },
      Budget: {
        to: ['Process', 'DefineAgent', 'Budget'],
        handle: (job) => overBudget(job, rules),
      },
      End: { end: true, retry: engineRetry, run: end },
    },
  });
}

function begin(job: LlmJob, { retry }: JobRules): Action<JobState> {
  const problems = problemsOf(job.input);
  const { max_retries = retry.max_retries, base_delay_ms = retry.base_delay_ms } = job.input;
  const retryConfig = { max_retries, base_delay_ms };
  const { id, now, input } = job;
  const fresh = newRecord(newJob({ id, description: input.description, retryConfig }, now));
  const outcome =
    problems.length === 0
      ? success
      : ({ type: 'failure', ...failureOf('business', problems.join('; ')) } as const);
  return advance(job, fresh, outcome, { now: job.now });
}

function defineAgent(job: LlmJob, rules: JobRules): Action<JobState> {
  const record = recordOf(job);
  // The stub would not know.
  const mayClassify = rules.classifies && !partsIn(job.stores).models.isStub;
  if (mayClassify && record.classification === null)
    return planCall(job, record, 'classify', rules);
  try {
    const { skill, model } = classified(rules.route(record.description), record.classification);
    const tier = tierNamed(job.input.model ?? '') ?? model;
    const agent = { skill, model: tier };
    const routed = withTier({ ...record, agent }, { tier, step: 0 }, rules.catalog);
    return advance(job, routed, success, { now: job.now });
  } catch (error) {
    const words = `the job could not be routed: ${error instanceof Error ? error.message : error}`;
    return advance(
      job,
      record,
      { type: 'failure', ...failureOf('system', words) },
      { now: job.now },
    );
  }
}

function planAnswer(job: LlmJob, rules: JobRules): Action<JobState> {
  const record = recordOf(job);
  const over_budget = record.over_budget || job.answer?.name === 'approved';
  return planCall(job, { ...record, over_budget, next_attempt_at: null }, 'answer', rules);
}

/** The record is End's work. It tells of a job that has ended well, before it has (S-56). */
async function end(job: RunningJob<JobInput>): Promise<Action<JobState>> {
  const { books, clock, redact } = partsIn(job.stores);
  const record = recordOf(job);
  const now = clock.now();
  const { job: completed } = next(record, success, now);
  const about = { client: job.client.name, attributes: job.attributes, redact };
  const error = await errorOf(() => books.write(auditRecord(completed, about)), clock, job.signal);
  if (error === null) return advance(job, record, success, { now });
  job.log.error('the audit record could not be stored', { error });
  // The answer is kept, and the model is not asked again (W-g).
  const failure = failureOf('system', `the audit record could not be stored: ${error}`);
  return advance(job, record, { type: 'failure', ...failure }, { now: clock.now() });
}

/** Tries a few times, quickly. @returns what kept it from succeeding, or null. */
async function errorOf(
  write: () => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | null> {
  for (let tries = 0; ; tries += 1) {
    try {
      write();
      return null;
    } catch (error) {
      const delayMs = recordDelaysMs[tries];
      if (delayMs === undefined) return error instanceof Error ? error.message : String(error);
      await delay(clock, delayMs, signal);
    }
  }
}
