import { isFinal, type JobStatus, jobStatuses } from '../core/status.ts';
import type { Decision, SignalsPort } from '../engine/ports.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { ServerContext } from './context.ts';

const lookAgainMs = 1_000;

/**
 * A decision, from wherever it comes.
 * @throws DECISION_REFUSED; with `details.retry_after_ms` where the question may come yet
 */
export async function decideOn(
  { engine, log }: ServerContext,
  jobId: string,
  decision: Decision,
): ReturnType<SignalsPort['decide']> {
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
    throw withHint(error);
  }
}

/** Whoever is told of a question in the moment that it is asked may be faster than its commit (B-034). */
function withHint(error: unknown): unknown {
  if (!(error instanceof CapatazError) || error.code !== 'DECISION_REFUSED') return error;
  const { details = {} } = error;
  const status = jobStatuses.find((one) => one === details.status);
  if (details.reason !== 'nothing_to_decide' || status === undefined || !mayStillAsk(status))
    return error;
  const hinted = { ...details, retry_after_ms: lookAgainMs };
  return new CapatazError(error.code, error.message, hinted, error);
}

function mayStillAsk(status: JobStatus): boolean {
  return !isFinal(status) && status !== 'quarantined';
}

export function nothingToDecide(status: JobStatus): CapatazError {
  const details = { reason: 'nothing_to_decide', status };
  return new CapatazError('DECISION_REFUSED', 'The job waits for no decision.', details);
}
