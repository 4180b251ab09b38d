import type { StoredEntry } from '../../core/history.ts';
import type { Job } from '../../core/job.ts';
import { isFinal } from '../../core/status.ts';
import type { JsonObject } from '../../std/json.ts';
import type { Store, Work } from '../../store/contract.ts';
import type { MemoryData } from '../../store/memory/index.ts';

/** The composite rules of invariants.md: aggregation, approval, children, keys, signals. */

/** One end for each fan-out, after all of its tasks; the aggregator saw each of them, once. */
export function checkFanOut(job: Job, entries: readonly StoredEntry[]): string[] {
  const problems: string[] = [];
  let open: number | null = null;
  const ended = new Set<string>();
  for (const { type, number = 0, task, taskTo } of entries) {
    if (type === 'fan_out_begun') {
      open = number;
      ended.clear();
    }
    if (task !== undefined && taskTo !== undefined) {
      if (['SUCCEEDED', 'FAILED', 'CANCELLED', 'TIMEOUT'].includes(taskTo)) ended.add(task);
      else ended.delete(task);
    }
    if (type !== 'fan_out_ended') continue;
    if (open === null) problems.push('a fan-out ended twice, or never began');
    else if (ended.size !== open) problems.push(`${ended.size} of ${open} branches had ended`);
    open = null;
  }
  if (job.blueprint === 'fan-out' && job.status === 'finished' && job.state === 'done') {
    const wanted = Number((job.input as JsonObject).number) % 6;
    if (job.data.merged !== wanted)
      problems.push(`the aggregator saw ${job.data.merged} of ${wanted} results`);
    if (job.data.merges !== 1) problems.push(`the aggregator ran ${job.data.merges} times`);
  }
  return problems.map((problem) => `job ${job.id}: ${problem}`);
}

/** One decision a wait, by nobody who did not know what was shown. */
export function checkApproval(job: Job, entries: readonly StoredEntry[]): string[] {
  const decided = new Set<string>();
  const problems: string[] = [];
  for (const { type, actor, details } of entries) {
    if (type !== 'approval_decided') continue;
    const { wait } = details as { wait: string };
    if (decided.has(wait)) problems.push(`job ${job.id}: wait ${wait} was decided twice`);
    decided.add(wait);
    if (actor === 'mallory') problems.push(`job ${job.id}: decided on what was never shown`);
  }
  problems.push(...checkPatience(job, entries));
  const isDone = job.blueprint === 'asking' && job.status === 'finished' && job.state === 'done';
  if (isDone && job.data.approvedBy !== 'ana')
    problems.push(`job ${job.id}: done without an approval`);
  return problems;
}

/** A question stands for as long as it says. */
function checkPatience({ id, blueprint }: Job, entries: readonly StoredEntry[]): string[] {
  if (blueprint !== 'asking') return [];
  const problems: string[] = [];
  let askedAt = 0;
  for (const { type, at } of entries) {
    if (type === 'approval_asked') askedAt = at;
    const isOver = type === 'wait_timed_out' || type === 'approval_escalated';
    if (isOver && at - askedAt < 30_000)
      problems.push(`job ${id}: ${type} after ${at - askedAt} ms`);
  }
  return problems;
}

/** Each child's end is told once; nobody outlives the job that waited for it. */
export async function checkChildren(store: Store): Promise<string[]> {
  const problems: string[] = [];
  const jobs = await store.jobs({ limit: 10_000 });
  for (const job of jobs) {
    if (job.parent === null) continue;
    const parent = await store.job(job.parent.jobId);
    if (parent === null) problems.push(`job ${job.id}: its parent does not exist`);
    else if (isFinal(parent.status) && !isFinal(job.status) && job.status !== 'quarantined')
      problems.push(`job ${job.id} is ${job.status}, its parent has ended`);
    else if (parent.status === 'finished' && parent.state === 'done' && job.status !== 'finished')
      problems.push(`job ${job.id} is ${job.status}, its parent says that it finished`);
    else if (job.status !== 'cancelled' && isLate(job, parent))
      problems.push(`job ${job.id} went on though its parent had ended`);
  }
  return problems;
}

/** No outage of the server is so long that the order to cancel could come later. */
const longestOutageMs = 30_000;

function isLate(job: Job, parent: Job): boolean {
  const isOver = parent.endedAt !== null && parent.status !== 'finished';
  return isOver && (job.endedAt ?? 0) - (parent.endedAt ?? 0) > longestOutageMs;
}

/** Never more at work under a key than it admits. */
export async function checkKeys(store: Store): Promise<string[]> {
  const jobs = await store.jobs({ blueprint: 'keyed', limit: 10_000 });
  const inside = jobs.filter(({ status, entry }) => entry > 0 && !isFinal(status));
  const tasks = await store.tasks(inside.map(({ id }) => id));
  return [
    ...(inside.length > 2 ? [`${inside.length} jobs hold the key "two"`] : []),
    ...(tasks.length > 1 ? [`${tasks.length} tasks hold the key "one"`] : []),
  ];
}

/** Every signal that was taken is counted once. */
export function checkSignals(job: Job, told: ReadonlySet<string>): string[] {
  if (job.blueprint !== 'listener') return [];
  const heard = (job.data.heard as string[] | undefined) ?? [];
  const problems: string[] = [];
  if (new Set(heard).size < heard.length) problems.push(`job ${job.id}: heard a tick twice`);
  for (const id of told) {
    if (!heard.includes(id) && job.status === 'finished' && job.state === 'done')
      problems.push(`job ${job.id}: ${id} was taken and is not counted`);
  }
  return problems;
}

/** What lies in the inbox of a job that waits for signals is looked at: there is an alarm. */
export function checkInboxes({ open }: MemoryData, { changes = [] }: Work): string[] {
  return changes.flatMap(({ change }) => {
    const owner = open.get(change.job.id);
    if (owner?.job.wait?.type !== 'event' || owner.deadlines.inbox !== undefined) return [];
    const ids = owner.inbox.map(({ item }) => item.id);
    return ids.length === 0 ? [] : [`job ${owner.job.id}: nothing looks at ${ids.join(', ')}`];
  });
}

/** What a step gave is what the next run gets. */
export function checkSteps({ id, blueprint, status, data }: Job): string[] {
  const isWrong = blueprint === 'stepper' && status === 'finished' && data.isSame !== true;
  return isWrong ? [`job ${id}: a remembered step was run again`] : [];
}
