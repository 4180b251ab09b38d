import type { Job, Task } from '../../core/job.ts';
import type { Phase } from '../../core/phase.ts';
import type { JobStatus } from '../../core/status.ts';
import type { CausesQuery, Counts, Due, DuePage, JobCauses } from '../contract.ts';
import { deadlinesOf } from '../rows.ts';
import { deadlineList, isRunnable, PhaseCounter } from '../rules.ts';
import type { Connections } from './connections.ts';
import { type JobRow, jobOf, type TaskRow, taskOf } from './rows.ts';
import type { Session } from './statements.ts';

/** What is due, what moves each job, and how many there are. */

/**
 * The heads of the four lists of deadlines, merged. One more than the limit is read of each, so that
 * the first one that is not in the page is among them.
 */
export async function duePage(
  connections: Connections,
  given: number | null,
  limit: number,
): Promise<DuePage> {
  const { now, all } = await connections.together(async (session) => {
    const [began, ...lists] = await Promise.all([
      session.all<{ at: number }>('now', given),
      jobTimers(session, limit + 1),
      taskTimers(session, limit + 1),
      leases(session, limit + 1),
      silences(session, limit + 1),
    ]);
    return { now: began[0]?.at ?? 0, all: lists.flat() };
  });
  all.sort((a, b) => a.at - b.at);
  const due = all.filter(({ at }) => at <= now).slice(0, limit);
  const next = all[due.length];
  return { due, nextInMs: next === undefined ? null : Math.max(0, next.at - now) };
}

async function jobTimers(session: Session, limit: number): Promise<Due[]> {
  const rows = await session.all<{ id: string; timers: string }>('due-jobs', limit);
  return rows.flatMap((row) =>
    deadlineList(deadlinesOf(row)).map((timer) => ({
      type: 'timer' as const,
      jobId: row.id,
      taskId: null,
      ...timer,
    })),
  );
}

async function taskTimers(session: Session, limit: number): Promise<Due[]> {
  const rows = await session.all<{ id: string; job: string; timers: string }>('due-tasks', limit);
  return rows.flatMap((row) =>
    deadlineList(deadlinesOf(row)).map((timer) => ({
      type: 'timer' as const,
      jobId: row.job,
      taskId: row.id,
      ...timer,
    })),
  );
}

async function leases(session: Session, limit: number): Promise<Due[]> {
  const rows = await session.all<{ id: string; lease_token: string; lease_until: number }>(
    'due-leases',
    limit,
  );
  return rows.map(({ id, lease_token: token, lease_until: at }) => ({
    type: 'lease',
    jobId: id,
    token,
    at,
  }));
}

async function silences(session: Session, limit: number): Promise<Due[]> {
  const rows = await session.all<{ id: string; silent_at: number }>('due-silences', limit);
  return rows.map(({ id, silent_at: at }) => ({ type: 'silence', worker: id, at }));
}

interface CausesRow extends JobRow {
  readonly id: string;
  readonly timers: string;
  readonly lease_until: number | null;
}

export function causes(connections: Connections, of: CausesQuery): Promise<JobCauses[]> {
  return connections.together(async (session) => {
    const jobs =
      'id' in of
        ? await session.all<CausesRow>('causes-of', of.id)
        : await session.all<CausesRow>('causes', of.after, of.limit);
    const records = jobs.map(jobOf);
    const children = records.flatMap(({ wait }) => (wait?.type === 'child' ? [wait.jobId] : []));
    const ids = jobs.map(({ id }) => id);
    const [tasks, open] = await Promise.all([
      session.all<TaskRow>('id' in of ? 'read-tasks' : 'causes-tasks', ids),
      session.all<{ id: string }>('hot-among', children),
    ]);
    const workers = [...new Set(tasks.flatMap(({ worker }) => worker ?? []))];
    const known = await session.all<{ id: string }>('known-workers', workers);
    const isKnown = new Set(known.map(({ id }) => id));
    const isOpen = new Set(open.map(({ id }) => id));
    const ofJobs = Map.groupBy(tasks, ({ job }) => job);
    return jobs.map((row, index): JobCauses => {
      const job = records[index] as Job;
      const { wait } = job;
      const childIsOpen = wait?.type === 'child' && isOpen.has(wait.jobId);
      return { ...causesOf(row, job, ofJobs.get(row.id) ?? [], isKnown), childIsOpen };
    });
  });
}

function causesOf(
  row: CausesRow,
  job: Job,
  tasks: readonly TaskRow[],
  isKnown: ReadonlySet<string>,
): Omit<JobCauses, 'childIsOpen'> {
  const ownTimers = deadlineList(deadlinesOf(row)).map((timer) => ({ taskId: null, ...timer }));
  const taskTimers = tasks.flatMap((task) =>
    deadlineList(deadlinesOf(task)).map((timer) => ({ taskId: task.id, ...timer })),
  );
  const idsWhere = (holds: (task: TaskRow) => boolean): string[] =>
    tasks.filter(holds).map(({ id }) => id);
  return {
    job,
    tasks: tasks.map(taskOf),
    runnable: isRunnable(job),
    leaseEndsAt: row.lease_until,
    timers: [...ownTimers, ...taskTimers],
    queued: idsWhere(({ queued }) => queued),
    watched: idsWhere(({ worker }) => worker !== null && isKnown.has(worker)),
  };
}

export async function counts(connections: Connections): Promise<Counts> {
  const [hot, open, sums, bus, openPhases] = await connections.together((session) =>
    Promise.all([
      session.all<{ status: JobStatus; count: number }>('count-jobs'),
      session.all<{ status: Task['status']; count: number; queued: number }>('count-tasks'),
      session.all<{ name: string; value: number }>('counters'),
      session.all<{ outbox: number; dead: number }>('outbox-counts'),
      session.all<{ phase: Phase; count: number; since: number }>('count-phases'),
    ]),
  );
  const jobs: Partial<Record<JobStatus, number>> = {};
  const tasks: Partial<Record<Task['status'], number>> = {};
  for (const { status, count } of hot) jobs[status] = count;
  for (const { status, count } of open) tasks[status] = count;
  const sum = new Map(sums.map(({ name, value }) => [name, value]));
  for (const [name, value] of sum) {
    if (name.startsWith('ended:') && value > 0)
      jobs[name.slice('ended:'.length) as JobStatus] = value;
  }
  const timedOut = sum.get('timed_out') ?? 0;
  const phases = new PhaseCounter();
  phases.add('SUCCEEDED', jobs.finished ?? 0, null);
  phases.add('FAILED', (jobs.failed ?? 0) - timedOut, null);
  phases.add('TIMEOUT', timedOut, null);
  phases.add('CANCELLED', jobs.cancelled ?? 0, null);
  for (const { phase, count, since } of openPhases) phases.add(phase, count, since);
  return {
    jobs,
    tasks,
    queued: open.reduce((total, { queued }) => total + queued, 0),
    outbox: bus[0]?.outbox ?? 0,
    deadLetters: bus[0]?.dead ?? 0,
    lostEntries: sum.get('lost_entries') ?? 0,
    phases: phases.counts,
  };
}
