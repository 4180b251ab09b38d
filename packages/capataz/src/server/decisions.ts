import { isFinal, type JobStatus, jobStatuses } from '../core/status.ts';
import type { Decision, SignalsPort } from '../engine/ports.ts';
import { CapatazError } from '../protocol/errors.ts';
import { nothingToDecide } from '../protocol/nothing-to-decide.ts';
import type { ServerContext } from './context.ts';
import { decisionsOf } from './views.ts';

const lookAgainMs = 1_000;

/**
 * A decision, from wherever it comes.
 * @throws DECISION_REFUSED; with `details.retry_after_ms` where the question may come yet
 */
export async function decideOn(
  context: ServerContext,
  jobId: string,
  decision: Decision,
): ReturnType<SignalsPort['decide']> {
  const { engine, log } = context;
  try {
    const decided = await engine.signals.decide(jobId, decision);
    log.info('a decision came in', {
      job: jobId,
      correlation: decided.job.correlationId,
      decision: decision.decision,
      approver: decision.actor,
      repeated: decided.repeated,
    });
    return decided;
  } catch (error) {
    throw await inWords(context, jobId, error);
  }
}

async function inWords(context: ServerContext, jobId: string, error: unknown): Promise<unknown> {
  if (!(error instanceof CapatazError) || error.code !== 'DECISION_REFUSED') return error;
  const status = jobStatuses.find((one) => one === error.details?.status);
  if (error.details?.reason === 'decision_unknown') return withKnown(context, jobId, error);
  if (status === undefined) return error;
  if (isFinal(status)) return nothingToDecide({ id: jobId, status });
  return error.details?.reason === 'nothing_to_decide' ? withHint(jobId, status) : error;
}

/** Names the decisions there are, unless the job has moved on meanwhile. */
async function withKnown(
  { engine }: ServerContext,
  jobId: string,
  { code, message, details }: CapatazError,
): Promise<CapatazError> {
  const { wait } = await engine.jobs.get(jobId, null);
  const known = wait?.type === 'approval' ? decisionsOf(wait) : [];
  if (known.length === 0) return new CapatazError(code, message, details);
  const text = `${message.replace(/\.$/, '')}; it knows ${known.join(', ')}`;
  return new CapatazError(code, text, { ...details, decisions: known });
}

/** Whoever is told of a question in the moment that it is asked may be faster than its commit (B-034). */
function withHint(id: string, status: JobStatus): CapatazError {
  const error = nothingToDecide({ id, status });
  if (!mayStillAsk(status)) return error;
  const hinted = { ...error.details, retry_after_ms: lookAgainMs };
  return new CapatazError(error.code, error.message, hinted);
}

function mayStillAsk(status: JobStatus): boolean {
  return !isFinal(status) && status !== 'quarantined';
}
