import type { Job } from '../../core/job.ts';
import type { Forget, Forgotten } from '../contract.ts';
import { isToForget } from '../rules.ts';
import type { MemoryData } from './data.ts';

/** Jobs are in `ended` in the order of their ends. */
export function forgetEnded(data: MemoryData, what: Forget, at: number): Forgotten {
  const surplus = what.keepAtMost === null ? 0 : data.ended.size - what.keepAtMost;
  const due: Job[] = [];
  for (const job of data.ended.values()) {
    const isDue = isToForget(
      what,
      { endedAt: job.endedAt ?? at, isSurplus: due.length < surplus },
      at,
    );
    if (!isDue || due.length > what.limit) break;
    due.push(job);
  }
  const gone = due.slice(0, what.limit);
  forget(data, new Set(gone.map(({ id }) => id)));
  expireKeys(data, at);
  return { jobIds: gone.map(({ id }) => id), more: due.length > gone.length };
}

function forget(data: MemoryData, ids: ReadonlySet<string>): void {
  if (ids.size === 0) return;
  for (const id of ids) {
    data.ended.delete(id);
    data.books.delete(id);
    data.seenByEnded.delete(id);
    const archived = data.archived.get(id);
    if (archived !== undefined) archived.isForgotten = true;
  }
  // Positions are never given twice: what is gone leaves a hole.
  for (const [index, row] of data.feed.entries()) {
    if (row[0] !== undefined && ids.has(row[0].jobId)) data.feed[index] = [];
  }
}

function expireKeys(data: MemoryData, at: number): void {
  for (const [name, key] of data.keys) {
    if (!isKeyInForce(data, key, at)) data.keys.delete(name);
  }
}

/** Young, or of an open job. One that took the id of a job that was forgotten is another. */
export function isKeyInForce(
  data: MemoryData,
  { expiresAt, jobId }: { readonly expiresAt: number; readonly jobId: string },
  at: number,
): boolean {
  const owner = data.open.get(jobId);
  return expiresAt > at || (owner !== undefined && owner.job.createdAt < expiresAt);
}
