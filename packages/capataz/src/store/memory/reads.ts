import type { Job, Task } from '../../core/job.ts';
import { endedPhase, type Phase, phase } from '../../core/phase.ts';
import { type TaskClass, taskClass } from '../../core/requirements.ts';
import type { JobStatus } from '../../core/status.ts';
import { canonicalJson, type JsonValue } from '../../std/json.ts';
import type {
  BlueprintId,
  Counts,
  Due,
  DuePage,
  EventPage,
  JobCauses,
  JobEvent,
  JobQuery,
  StuckAttempt,
  StuckQuery,
} from '../contract.ts';
import { deadlineList, isRunnable, PhaseCounter } from '../rules.ts';
import { copyOf, isInQueue, type MemoryData, type OpenJob, type TaskRecord } from './data.ts';

export function jobsMatching(data: MemoryData, query: JobQuery): Job[] {
  const all = [...data.ended.values(), ...[...data.open.values()].map(({ job }) => job)];
  const matching = all.filter(
    (job) =>
      (query.client === undefined || job.client === query.client) &&
      (query.status === undefined || query.status.includes(job.status)) &&
      (query.blueprint === undefined || job.blueprint === query.blueprint) &&
      (query.state === undefined || job.state === query.state) &&
      (query.correlationId === undefined || job.correlationId === query.correlationId) &&
      hasAttributes(job, query.attributes ?? {}) &&
      (query.before === undefined || job.id < query.before),
  );
  return matching
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, query.limit)
    .map(copyOf);
}

function hasAttributes({ options }: Job, wanted: Readonly<Record<string, JsonValue>>): boolean {
  return Object.entries(wanted).every(
    ([name, value]) =>
      Object.hasOwn(options.attributes, name) &&
      canonicalJson(options.attributes[name]) === canonicalJson(value),
  );
}

/** The tasks of these jobs by arrival, or of all. */
export function taskRecords(data: MemoryData, jobIds?: readonly string[]): TaskRecord[] {
  const owners = [...data.open.values()].filter(
    ({ job }) => jobIds === undefined || jobIds.includes(job.id),
  );
  return owners.flatMap(({ tasks }) => [...tasks.values()]).sort((a, b) => a.arrival - b.arrival);
}

export function eventsAfter(data: MemoryData, after: number, limit: number): EventPage {
  const events: JobEvent[] = [];
  let position = after;
  for (let next = after; next < data.feed.length && events.length < limit; next += 1) {
    const row = data.feed[next] ?? [];
    events.push(...row);
    // A hole of what was forgotten is no place to read on from.
    if (row.length > 0) position = next + 1;
  }
  return { events: copyOf(events), position };
}

export function duePage(data: MemoryData, now: number, limit: number): DuePage {
  const all = [...timersDue(data), ...leasesDue(data), ...silencesDue(data)];
  all.sort((a, b) => a.at - b.at);
  const due = all.filter(({ at }) => at <= now).slice(0, limit);
  const next = all[due.length];
  return { due, nextInMs: next === undefined ? null : Math.max(0, next.at - now) };
}

function timersDue(data: MemoryData): Due[] {
  return [...data.open.values()].flatMap((owner) =>
    timersOf(owner).map((timer) => ({ type: 'timer' as const, jobId: owner.job.id, ...timer })),
  );
}

function leasesDue(data: MemoryData): Due[] {
  return [...data.open.values()].flatMap(({ job, leaseEndsAt }) =>
    job.lease === null || leaseEndsAt === null
      ? []
      : [{ type: 'lease' as const, jobId: job.id, token: job.lease.token, at: leaseEndsAt }],
  );
}

function silencesDue(data: MemoryData): Due[] {
  return [...data.workers.values()].map(({ worker, silentAt }) => ({
    type: 'silence',
    worker: worker.id,
    at: silentAt,
  }));
}

function timersOf(owner: OpenJob): JobCauses['timers'] {
  const own = deadlineList(owner.deadlines).map((deadline) => ({ taskId: null, ...deadline }));
  const ofTasks = [...owner.tasks.values()].flatMap(({ task, deadlines }) =>
    deadlineList(deadlines).map((deadline) => ({ taskId: task.id, ...deadline })),
  );
  return [...own, ...ofTasks];
}

export function runnableJobs(
  data: MemoryData,
  offered: readonly BlueprintId[],
  limit: number,
): string[] {
  const runnable = [...data.open.values()].filter(
    ({ job }) => isRunnable(job) && isAmong(job, offered),
  );
  return runnable.slice(0, limit).map(({ job }) => job.id);
}

function isAmong(job: Job, ids: readonly BlueprintId[]): boolean {
  return ids.some(
    ({ name, version }) => name === job.blueprint && version === job.blueprintVersion,
  );
}

export function orphanedJobs(
  data: MemoryData,
  offered: readonly BlueprintId[],
  since: number,
  limit: number,
): string[] {
  const orphans = [...data.open.values()].filter(({ job }) => {
    const offer = data.offers.get(offerKey(job.blueprint, job.blueprintVersion));
    const isOffered = isAmong(job, offered) || (offer !== undefined && offer.at >= since);
    return job.status !== 'quarantined' && !isOffered;
  });
  return orphans.slice(0, limit).map(({ job }) => job.id);
}

export function offerKey(name: string, version: number): string {
  return JSON.stringify([name, version]);
}

export function classesQueued(data: MemoryData): TaskClass[] {
  const classes = new Map<string, TaskClass>();
  for (const owner of data.open.values()) {
    for (const record of owner.tasks.values()) {
      if (isInQueue(owner, record)) classes.set(record.classKey, taskClass(record.task.spec));
    }
  }
  return copyOf([...classes.values()]);
}

export function loadsOf(data: MemoryData): ReadonlyMap<string, number> {
  const loads = new Map<string, number>();
  for (const { tasks } of data.open.values()) {
    for (const { task } of tasks.values()) {
      const worker = task.attempt?.worker;
      if (worker !== undefined) loads.set(worker, (loads.get(worker) ?? 0) + 1);
    }
  }
  return loads;
}

export function tasksHeldBy(data: MemoryData, worker: string): Task[] {
  const held = taskRecords(data).filter(({ task }) => task.attempt?.worker === worker);
  return held.sort((a, b) => a.handOut - b.handOut).map(({ task }) => copyOf(task));
}

export function countAll(data: MemoryData): Counts {
  const jobs: Partial<Record<JobStatus, number>> = {};
  const tasks: Partial<Record<Task['status'], number>> = {};
  const phases = new PhaseCounter();
  let queued = 0;
  for (const job of data.ended.values()) {
    jobs[job.status] = (jobs[job.status] ?? 0) + 1;
    phases.add(endedPhase(job), 1, null);
  }
  for (const owner of data.open.values()) {
    const { status } = owner.job;
    jobs[status] = (jobs[status] ?? 0) + 1;
    const open = [...owner.tasks.values()].map(({ task }) => task);
    phases.add(countedPhase(owner.job, open), 1, phaseBegan(owner.job, open));
    for (const record of owner.tasks.values()) {
      tasks[record.task.status] = (tasks[record.task.status] ?? 0) + 1;
      if (isInQueue(owner, record)) queued += 1;
    }
  }
  const deadLetters = data.dead.filter(({ resolvedAt }) => resolvedAt === null).length;
  const { lostEntries, outbox } = data;
  return {
    jobs,
    tasks,
    queued,
    outbox: outbox.length,
    deadLetters,
    lostEntries,
    phases: phases.counts,
  };
}

/** Gauges must also be there while a job is broken: one whose task is missing waits for nothing. */
function countedPhase(job: Job, tasks: readonly Task[]): Phase {
  const { wait } = job;
  const isBroken = wait?.type === 'task' && !tasks.some(({ id }) => id === wait.taskId);
  return phase(isBroken ? { ...job, wait: null } : job, tasks);
}

function phaseBegan({ wait, enteredAt }: Job, tasks: readonly Task[]): number {
  const task = tasks.find(({ id }) => wait?.type === 'task' && wait.taskId === id);
  return task?.attempt?.assignedAt ?? enteredAt;
}

export function causesOf(data: MemoryData, owner: OpenJob): JobCauses {
  return copyOf(causesSeen(data, owner));
}

/** For the store's own eyes: nothing is copied. */
export function causesSeen(data: MemoryData, owner: OpenJob): JobCauses {
  const records = [...owner.tasks.values()].sort((a, b) => a.arrival - b.arrival);
  const idsWhere = (holds: (record: TaskRecord) => boolean): string[] =>
    records.filter(holds).map(({ task }) => task.id);
  return {
    job: owner.job,
    tasks: records.map(({ task }) => task),
    runnable: isRunnable(owner.job),
    leaseEndsAt: owner.leaseEndsAt,
    timers: timersOf(owner),
    queued: idsWhere((record) => isInQueue(owner, record)),
    watched: idsWhere(({ task }) => task.attempt !== null && data.workers.has(task.attempt.worker)),
    childIsOpen: owner.job.wait?.type === 'child' && data.open.has(owner.job.wait.jobId),
  };
}

/** As a slice gives them. */
export function withoutPayloads({ job, tasks, ...causes }: JobCauses): JobCauses {
  return {
    ...causes,
    job: { ...job, input: null, data: {} },
    tasks: tasks.map((task) => ({ ...task, spec: { ...task.spec, params: {}, metadata: null } })),
  };
}

export function stuckAttempts(
  data: MemoryData,
  { status, olderThanMs, limit }: StuckQuery,
  at: number,
): StuckAttempt[] {
  const held = taskRecords(data).flatMap(({ task: { attempt, ...task } }) =>
    attempt !== null && task.status === status && attempt.assignedAt <= at - olderThanMs
      ? [{ jobId: task.jobId, taskId: task.id, attempt: attempt.id, at: attempt.assignedAt }]
      : [],
  );
  held.sort((a, b) => a.at - b.at);
  return held.slice(0, limit).map(({ at: _, ...found }) => found);
}
