import { canonicalJson } from '../../std/json.ts';
import type { Claim, ClaimOutcome, StartMark } from '../contract.ts';
import {
  afterHandOut,
  assignedEntry,
  type HandOutRoom,
  handedOutStatus,
  isQueued,
  startedEntry,
} from '../rules.ts';
import { copyOf, type MemoryData, type OpenJob, type TaskRecord, write } from './data.ts';

/** Hands queued tasks to a worker: lane by lane in turn, within a lane the best first (S-29). */
export function applyClaim(
  data: MemoryData,
  claim: Claim,
  room: HandOutRoom,
  at: number,
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
      const best = bestOf(data, lane, suspects < claim.maxSuspects);
      if (best === undefined) continue;
      served.push(lane);
      if (best.record.task.lostRuns > 0) suspects += 1;
      room.take(canonicalJson(best.record.task.spec).length);
      tasks.push(
        handOut(data, best.owner, best.record, claim, claim.attemptIds[tasks.length] ?? '', at),
      );
    }
    lanes = served;
  }
  const drained = [...new Set(claim.lanes.flat())].filter(
    (key) => bestOf(data, [key], true) === undefined,
  );
  return { tasks: tasks.map(({ task }) => copyOf(task)), drained };
}

interface Found {
  readonly owner: OpenJob;
  readonly record: TaskRecord;
}

function bestOf(
  data: MemoryData,
  classKeys: readonly string[],
  suspectsToo: boolean,
): Found | undefined {
  let best: Found | undefined;
  for (const owner of data.open.values()) {
    for (const record of owner.tasks.values()) {
      if (!classKeys.includes(record.classKey)) continue;
      if (!isQueued(record.task.status, record.deadlines, owner.job.held)) continue;
      if (!suspectsToo && record.task.lostRuns > 0) continue;
      if (best === undefined || isBefore(record, best.record)) best = { owner, record };
    }
  }
  return best;
}

function isBefore(a: TaskRecord, b: TaskRecord): boolean {
  const byPriority = b.task.spec.priority - a.task.spec.priority;
  return byPriority < 0 || (byPriority === 0 && a.arrival < b.arrival);
}

function handOut(
  data: MemoryData,
  owner: OpenJob,
  record: TaskRecord,
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
  write(data, owner.job, [assignedEntry({ id, bound, attempts }, attemptId, claim)], at);
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
  write(data, owner.job, [startedEntry(taskId, attempt, task.attempt.worker, task.status)], at);
}
