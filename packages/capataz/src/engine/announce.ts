import type { Log } from '../std/log.ts';
import type { Committed } from './committer.ts';

/** Tells the operator's log what the author of a blueprint has to see: failures of handlers, parked jobs. */
export function announce({ done }: Committed, log: Log): void {
  for (const { request, outcome } of done) {
    for (const entry of request.change.history) {
      const isFailure = entry.type === 'handler_failed' || entry.type === 'handler_lost';
      if (!isFailure && entry.type !== 'job_quarantined') continue;
      const { id, blueprint, correlationId } = outcome.job;
      const fields = {
        job: id,
        blueprint,
        state: entry.state ?? outcome.job.state,
        correlation: correlationId,
        reason: entry.reason ?? '',
        ...(entry.details === undefined ? {} : { details: entry.details }),
      };
      if (isFailure) log.warn('a handler failed', { ...fields, run: entry.number ?? 1 });
      else log.warn('a job is quarantined', fields);
    }
  }
}
