import type { StoredEntry } from '../../core/history.ts';
import type { Job } from '../../core/job.ts';
import type { TimeoutMonitorOptions } from '../../engine/timeout-monitor.ts';

/** Shorter than the product's, so that a storm sees attempts that are stuck. */
export const simMonitor: Partial<TimeoutMonitorOptions> & { readonly assignedTimeoutMs: number } = {
  assignedTimeoutMs: 20_000,
  checkIntervalMs: 5_000,
};

/** Only what nobody has begun in time is given up as stuck (H-14, H-16). */
export function checkStuck(job: Job, entries: readonly StoredEntry[]): string[] {
  const problems: string[] = [];
  const assignedAt = new Map<string, number>();
  for (const { type, at, reason = '', attempt = '' } of entries) {
    if (type === 'task_assigned') assignedAt.set(attempt, at);
    if (type === 'task_started') assignedAt.delete(attempt);
    if (type !== 'task_failed' || !/^[a-z]+_timeout$/.test(reason)) continue;
    const afterMs = at - (assignedAt.get(attempt) ?? at);
    if (afterMs < simMonitor.assignedTimeoutMs)
      problems.push(`job ${job.id}: attempt ${attempt}: ${reason} after ${afterMs} ms, or at work`);
  }
  return problems;
}
