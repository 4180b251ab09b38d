import type { HistoryEntry } from '../core/history.ts';
import type { Job } from '../core/job.ts';
import type { Log, LogFields } from '../std/log.ts';
import type { Committed } from './committer.ts';

/**
 * Tells the operator's log what the author of a blueprint has to see: failures of handlers, parked
 * jobs; and to whoever looks closer what came in from outside.
 */
export function announce({ done }: Committed, log: Log): void {
  for (const { request, outcome } of done) {
    for (const entry of request.change.history) tell(entry, outcome.job, log);
  }
}

function tell(entry: HistoryEntry, job: Job, log: Log): void {
  switch (entry.type) {
    case 'handler_failed':
    case 'handler_lost':
      return log.warn('a handler failed', { ...inFull(entry, job), run: entry.number ?? 1 });
    case 'job_quarantined':
      return log.warn('a job is quarantined', inFull(entry, job));
    case 'signal_taken':
    case 'signal_kept':
      return log.debug('a signal came in', about(entry, job));
    case 'task_finished':
    case 'task_failed':
      return log.debug('a task ended', about(entry, job));
    default:
      return;
  }
}

function about(entry: HistoryEntry, job: Job): LogFields {
  const { task, attempt, worker } = entry;
  return {
    job: job.id,
    blueprint: job.blueprint,
    state: entry.state ?? job.state,
    correlation: job.correlationId,
    ...(task === undefined ? {} : { task }),
    ...(attempt === undefined ? {} : { attempt }),
    ...(worker === undefined ? {} : { worker }),
    reason: entry.reason ?? '',
  };
}

function inFull(entry: HistoryEntry, job: Job): LogFields {
  const { details } = entry;
  return { ...about(entry, job), ...(details === undefined ? {} : { details }) };
}
