import type { Due, DuePage } from '../contract.ts';
import { deadlinesOf } from '../rows.ts';
import { deadlineList } from '../rules.ts';
import type { Reads } from './reads.ts';

/**
 * What is due of the four lists of deadlines, merged, and what comes next in each. One more than the limit
 * is read, so that the first one that is not in the page is among them. What lies ahead is left alone: to
 * read it with each commit took as long as a part of the commit.
 */
export function duePage(reads: Reads, now: number, limit: number): DuePage {
  const all = reads.together(() => [
    ...jobTimers(reads, now, limit + 1),
    ...taskTimers(reads, now, limit + 1),
    ...leases(reads, now, limit + 1),
    ...silences(reads, now, limit + 1),
  ]);
  all.sort((a, b) => a.at - b.at);
  const due = all.filter(({ at }) => at <= now).slice(0, limit);
  const next = all[due.length];
  return { due, nextInMs: next === undefined ? null : Math.max(0, next.at - now) };
}

function jobTimers({ statements }: Reads, now: number, limit: number): Due[] {
  const rows = statements.all<{ id: string; timers: string }>('due-jobs', now, limit);
  return rows.flatMap((row) =>
    deadlineList(deadlinesOf(row)).map((timer) => ({
      type: 'timer' as const,
      jobId: row.id,
      taskId: null,
      ...timer,
    })),
  );
}

function taskTimers({ statements }: Reads, now: number, limit: number): Due[] {
  const rows = statements.all<{ id: string; job_id: string; timers: string }>(
    'due-tasks',
    now,
    limit,
  );
  return rows.flatMap((row) =>
    deadlineList(deadlinesOf(row)).map((timer) => ({
      type: 'timer' as const,
      jobId: row.job_id,
      taskId: row.id,
      ...timer,
    })),
  );
}

function leases({ statements }: Reads, now: number, limit: number): Due[] {
  const rows = statements.all<{ id: string; lease_token: string; lease_until: number }>(
    'due-leases',
    now,
    limit,
  );
  return rows.map(({ id, lease_token: token, lease_until: at }) => ({
    type: 'lease',
    jobId: id,
    token,
    at,
  }));
}

function silences({ statements }: Reads, now: number, limit: number): Due[] {
  const rows = statements.all<{ id: string; silent_at: number }>('due-silences', now, limit);
  return rows.map(({ id, silent_at: at }) => ({ type: 'silence', worker: id, at }));
}
