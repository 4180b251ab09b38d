import type { StoredEntry } from '../../core/history.ts';
import type { Job } from '../../core/job.ts';
import { limbo } from '../../core/limbo.ts';
import { isFinal, type TaskStatus, taskMayBecome } from '../../core/status.ts';
import type { Store } from '../../store/contract.ts';

/** Rules of what is stored, for use at any moment and after any run. Each returns what is wrong. */

const endTypes: ReadonlySet<string> = new Set(['job_finished', 'job_failed', 'job_cancelled']);
const lateTypes: ReadonlySet<string> = new Set(['report_refused', 'signal_refused']);

/** Nothing lost and nothing stuck: every accepted job, and every child, has ended or is parked. */
export async function checkEnded(store: Store, accepted: Iterable<string>): Promise<string[]> {
  const problems: string[] = [];
  const children = (await store.jobs({ limit: 10_000 })).filter(({ parent }) => parent !== null);
  for (const id of [...accepted, ...children.map((job) => job.id)]) {
    const job = await store.job(id);
    if (job === null) problems.push(`job ${id} was accepted and does not exist`);
    else if (!isFinal(job.status) && job.status !== 'quarantined') {
      problems.push(stillOpen(job));
    }
  }
  return problems;
}

export function stillOpen({ id, blueprint, status, state, wait }: Job): string {
  return `job ${id} (${blueprint}) is still ${status} in state "${state}", wait ${JSON.stringify(wait)}`;
}

/** No limbo: every hot job has a living cause of progress. */
export async function checkLimbo(store: Store): Promise<string[]> {
  const problems: string[] = [];
  for (let after = ''; ; ) {
    const slice = await store.causes({ after, limit: 200 });
    for (const causes of slice) {
      const problem = limbo(causes);
      if (problem !== null) problems.push(`job ${causes.job.id} in limbo: ${problem}`);
    }
    const last = slice.at(-1);
    if (last === undefined || slice.length < 200) return problems;
    after = last.job.id;
  }
}

/** Everything was given back: no task is left when no job is open. */
export async function checkIdle(store: Store): Promise<string[]> {
  const { tasks, queued, outbox } = await store.counts();
  const left = Object.entries(tasks).filter(([, count]) => count > 0);
  const problems = left.map(
    ([status, count]) => `${count} tasks are ${status} though no job is open`,
  );
  if (outbox > 0) problems.push(`${outbox} events are not published though no job is open`);
  if (queued > 0) problems.push(`${queued} tasks are queued though no job is open`);
  return problems;
}

/** The book of one job: gapless, in order, legal steps only, one end. */
export function checkBook(job: Job, entries: readonly StoredEntry[]): string[] {
  const problems: string[] = [];
  const statuses = new Map<string, TaskStatus | null>();
  let ended = 0;
  let before = 0;
  for (const [index, entry] of entries.entries()) {
    if (entry.seq !== index + 1) problems.push(`entry ${index + 1} has sequence ${entry.seq}`);
    if (entry.at < before) problems.push(`entry ${entry.seq} is older than the one before`);
    before = entry.at;
    if (ended > 0 && !lateTypes.has(entry.type)) problems.push(`${entry.type} after the end`);
    if (endTypes.has(entry.type)) ended += 1;
    problems.push(...checkTaskStep(entry, statuses));
  }
  if (isFinal(job.status) && ended !== 1)
    problems.push(`the job is ${job.status}, its book has ${ended} ends`);
  return problems.map((problem) => `job ${job.id}: ${problem}`);
}

function checkTaskStep(entry: StoredEntry, statuses: Map<string, TaskStatus | null>): string[] {
  const { task, taskFrom, taskTo, type } = entry;
  if (task === undefined || taskTo === undefined) return [];
  const before = statuses.get(task) ?? null;
  statuses.set(task, taskTo);
  if (taskFrom === undefined) {
    const fresh = before === null || before === 'FAILED' || before === 'CANCELLED';
    return fresh ? [] : [`task ${task} started again while it was ${before}`];
  }
  const problems: string[] = [];
  if (taskFrom !== before)
    problems.push(`task ${task}: ${type} says it was ${taskFrom}, it was ${before}`);
  const isRetry = type === 'task_requeued' && taskFrom === 'FAILED' && taskTo === 'PENDING';
  if (!isRetry && !taskMayBecome(taskFrom, taskTo))
    problems.push(`task ${task}: ${taskFrom} to ${taskTo} is not allowed`);
  return problems;
}

/** No task was handed out before its planned delay, or its back-off, was over. */
export function checkDelays(job: Job, entries: readonly StoredEntry[]): string[] {
  const readyAt = new Map<string, number>();
  const problems: string[] = [];
  for (const { type, task, at, delayMs } of entries) {
    if (task === undefined) continue;
    if (type === 'task_dispatched' || type === 'task_requeued')
      readyAt.set(task, at + (delayMs ?? 0));
    const earliest = readyAt.get(task) ?? 0;
    if (type === 'task_assigned' && at < earliest) {
      problems.push(`job ${job.id}: task ${task} was handed out ${earliest - at} ms too early`);
    }
  }
  return problems;
}

/** One key, one job: nothing is there that nobody asked for. */
export async function checkNothingExtra(
  store: Store,
  accepted: ReadonlySet<string>,
): Promise<string[]> {
  const jobs = await store.jobs({ limit: 10_000 });
  return jobs
    .filter(({ id, parent }) => !accepted.has(id) && parent === null)
    .map(({ id }) => `job ${id} exists, and no client was told of it`);
}

/**
 * Where nothing ever happened to the workers, the network or the server's process, no attempt may be
 * given up, whatever its store and the clocks went through.
 */
export function checkCalmWorkers(job: Job, entries: readonly StoredEntry[]): string[] {
  return entries
    .filter(({ type, reason }) => type === 'task_failed' && reason === 'lost')
    .map(
      ({ attempt }) => `job ${job.id}: attempt ${attempt} was given up, yet its worker was well`,
    );
}

/** The most retries that any simulated blueprint allows, for each kind of failure. */
const mostRetries = 4;

/** Every loop is bounded: lost runs and reported failures of a task are capped, each for itself. */
export function checkBudgets(job: Job, entries: readonly StoredEntry[]): string[] {
  const counts = new Map<string, number>();
  const problems: string[] = [];
  for (const { type, task, reason } of entries) {
    if (type === 'job_redriven') counts.clear();
    if (type !== 'task_failed' || reason === 'not_delivered' || reason === 'not_started') continue;
    const key = `${task} ${reason === 'lost' ? 'lost' : 'failed'}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count === mostRetries + 2)
      problems.push(`job ${job.id}: task ${key} more than ${count - 1} times`);
  }
  return problems;
}

/** Nothing is handed out, and no handler begins, while an operator holds the job. */
export function checkHolds(job: Job, entries: readonly StoredEntry[]): string[] {
  const problems: string[] = [];
  let held = false;
  for (const { type, seq } of entries) {
    if (type === 'job_held') held = true;
    else if (type === 'job_released') held = false;
    else if (held && (type === 'task_assigned' || type === 'handler_claimed')) {
      problems.push(`job ${job.id}: ${type} (entry ${seq}) while it is held`);
    }
  }
  return problems;
}

/** What finished well has everything that its workers and handlers gave it. */
export function checkResult({ id, blueprint, status, state, data, result }: Job): string[] {
  if (status !== 'finished' || state !== 'done') return [];
  const wanted: Readonly<Record<string, readonly string[]>> = {
    'one-step': ['step1'],
    'three-steps': ['step1', 'step2', 'step3', 'second'],
    sleeper: ['step1'],
    runner: ['step1', 'thought'],
    picky: ['step1'],
  };
  const missing = (wanted[blueprint] ?? []).filter((key) => !Object.hasOwn(data, key));
  const problems = missing.map((key) => `job ${id} (${blueprint}) finished without ${key}`);
  const thought =
    blueprint !== 'runner' || (result as { thought?: boolean } | null)?.thought === true;
  return thought
    ? problems
    : [...problems, `job ${id}: the result of its handler is ${JSON.stringify(result)}`];
}
