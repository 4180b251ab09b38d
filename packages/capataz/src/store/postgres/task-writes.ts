import type { OpenJob, TaskRecord } from '../memory/data.ts';
import { earliest, isQueued } from '../rules.ts';
import { bigint, boolean, text } from './columns.ts';
import type { Write } from './connections.ts';
import { classId, type WorkingSet } from './working-set.ts';
import { type Columns, listWrite, rowsWrite } from './write.ts';

/** Tasks that are new, changed or gone. */
export function taskWrites({ data, before }: WorkingSet): Write[] {
  const fresh: TaskPlace[] = [];
  const changed: TaskPlace[] = [];
  const gone: TaskPlace[] = [];
  for (const [id, owner] of data.open) {
    const was = before.get(id)?.tasks;
    for (const [taskId, record] of owner.tasks) {
      const old = was?.get(taskId);
      const place = { owner, record };
      if (old === undefined || old.arrival !== record.arrival) fresh.push(place);
      else if (old !== record) changed.push(place);
    }
    for (const [taskId, record] of was ?? []) {
      if (owner.tasks.get(taskId)?.arrival !== record.arrival) gone.push({ owner, record });
    }
  }
  fresh.sort((a, b) => a.record.arrival - b.record.arrival);
  const ids = gone.map(({ record: { task } }) => task);
  return [
    ...listWrite(
      'tasks-delete',
      ids.map(({ jobId }) => jobId),
      ids.map(({ id }) => id),
    ),
    ...rowsWrite('tasks-insert', fresh.map(newTaskRow), newTaskColumns),
    ...rowsWrite('tasks-update', changed.map(taskRow), taskColumns),
  ];
}

interface TaskPlace {
  readonly owner: OpenJob;
  readonly record: TaskRecord;
}

const taskColumns: Columns<ReturnType<typeof taskRow>> = {
  id: text,
  job: text,
  status: text,
  attempts: bigint,
  failures: bigint,
  queued: boolean,
  attempt_id: text,
  worker: text,
  incarnation: text,
  assigned_at: bigint,
  hand_out: bigint,
  lost_runs: bigint,
  timers: text,
  due_at: bigint,
};

function taskRow({ owner, record: { task, deadlines, handOut } }: TaskPlace) {
  const { id, jobId: job, status, attempts, attempt, failures, lostRuns } = task;
  return {
    ...{ id, job, status, attempts, failures },
    queued: isQueued(status, deadlines, owner.job.held),
    attempt_id: attempt?.id ?? null,
    worker: attempt?.worker ?? null,
    incarnation: attempt?.incarnation ?? null,
    assigned_at: attempt?.assignedAt ?? null,
    hand_out: attempt === null ? null : handOut,
    lost_runs: lostRuns,
    timers: JSON.stringify(deadlines),
    due_at: earliest(deadlines),
  };
}

const newTaskColumns: Columns<ReturnType<typeof newTaskRow>> = {
  ...taskColumns,
  class: text,
  class_key: text,
  rank: bigint,
  spec: text,
};

function newTaskRow(place: TaskPlace) {
  const { task, classKey } = place.record;
  return {
    ...taskRow(place),
    class: classId(classKey),
    class_key: classKey,
    rank: -task.spec.priority,
    spec: JSON.stringify(task.spec),
  };
}
