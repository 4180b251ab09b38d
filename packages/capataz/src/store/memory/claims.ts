import type { Claim, ClaimOutcome, StartMark } from '../contract.ts';
import {
  afterHandOut,
  assignedEntry,
  type HandOutRoom,
  handedOutStatus,
  startedEntry,
} from '../rules.ts';
import { isInQueue, type MemoryData, type OpenJob, type TaskRecord } from './data.ts';

/** A task in the queue. */
export interface Queued {
  readonly owner: OpenJob;
  readonly record: TaskRecord;
}

/** How a store finds what is queued in classes. */
export interface Queue {
  /** The first task over all these classes. */
  first(classKeys: readonly string[], suspectsToo: boolean): Queued | undefined;
}

/** Hands queued tasks to a worker: lane by lane in turn, within a lane the best first (S-29). */
export function applyClaim(
  data: MemoryData,
  claim: Claim,
  room: HandOutRoom,
  at: number,
  queue: Queue = new ScannedQueue(data),
): ClaimOutcome {
  if (!room.nextClaim()) return { tasks: [], drained: [], cut: true };
  const max = Math.min(claim.max, claim.attemptIds.length);
  const tasks: TaskRecord[] = [];
  let suspects = 0;
  let lanes = claim.lanes;
  const isFull = (): boolean => tasks.length === max || room.isFull;
  while (lanes.length > 0 && !isFull()) {
    const served: (typeof lanes)[number][] = [];
    for (const lane of lanes) {
      if (isFull()) break;
      const best = queue.first(lane, suspects < claim.maxSuspects);
      if (best === undefined) continue;
      served.push(lane);
      if (best.record.task.lostRuns > 0) suspects += 1;
      // As long as its canonical text: what is stored has the same members in some order.
      room.take(JSON.stringify(best.record.task.spec).length);
      tasks.push(handOut(data, best, claim, claim.attemptIds[tasks.length] ?? '', at));
    }
    lanes = served;
  }
  const drained = [...new Set(claim.lanes.flat())].filter(
    (key) => queue.first([key], true) === undefined,
  );
  return { tasks: tasks.map(({ task }) => data.given(task)), drained };
}

class ScannedQueue implements Queue {
  readonly #data: MemoryData;

  constructor(data: MemoryData) {
    this.#data = data;
  }

  first(classKeys: readonly string[], suspectsToo: boolean): Queued | undefined {
    let best: Queued | undefined;
    for (const owner of this.#data.open.values()) {
      for (const record of owner.tasks.values()) {
        if (!classKeys.includes(record.classKey) || !isInQueue(owner, record)) continue;
        if (!suspectsToo && record.task.lostRuns > 0) continue;
        if (best === undefined || isBefore(record, best.record)) best = { owner, record };
      }
    }
    return best;
  }
}

export function isBefore(a: TaskRecord, b: TaskRecord): boolean {
  const byPriority = b.task.spec.priority - a.task.spec.priority;
  return byPriority < 0 || (byPriority === 0 && a.arrival < b.arrival);
}

function handOut(
  data: MemoryData,
  { owner, record }: Queued,
  claim: Claim,
  attemptId: string,
  at: number,
): TaskRecord {
  const { spec, attempts: before, id } = record.task;
  const { worker, incarnation } = claim;
  const attempts = before + 1;
  const bound = spec.requirements.worker !== undefined;
  data.handOuts += 1;
  const assigned: TaskRecord = {
    ...record,
    task: {
      ...record.task,
      status: handedOutStatus(bound),
      attempts,
      attempt: { id: attemptId, number: attempts, worker, incarnation, assignedAt: at },
    },
    deadlines: afterHandOut(record.deadlines, spec.executionLimitMs, at),
    handOut: data.handOuts,
  };
  owner.tasks.set(id, assigned);
  data.write(owner.job, [assignedEntry({ id, bound, attempts }, attemptId, claim)], at);
  return assigned;
}

/** The first sign of work: RUNNING is written once an attempt (S-26). */
export function applyStart(
  data: MemoryData,
  { jobId, taskId, attempt }: StartMark,
  at: number,
): void {
  const owner = data.open.get(jobId);
  const record = owner?.tasks.get(taskId);
  if (owner === undefined || record === undefined) return;
  const { task } = record;
  if (task.attempt?.id !== attempt || task.status === 'RUNNING') return;
  owner.tasks.set(taskId, { ...record, task: { ...task, status: 'RUNNING' } });
  data.write(owner.job, [startedEntry(taskId, attempt, task.attempt.worker, task.status)], at);
}
