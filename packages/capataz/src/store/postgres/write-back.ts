import type { Job } from '../../core/job.ts';
import { endedPhase } from '../../core/phase.ts';
import { canonicalJson } from '../../std/json.ts';
import type { OpenJob } from '../memory/data.ts';
import { waitKeyOf } from '../memory/shares.ts';
import { earliest, isRunnable } from '../rules.ts';
import { besideWrites } from './beside.ts';
import { bigint, boolean, text } from './columns.ts';
import type { Write } from './connections.ts';
import { pinnedText, recordText } from './rows.ts';
import { taskWrites } from './task-writes.ts';
import type { BookRow, JobBefore, WorkingSet } from './working-set.ts';
import { type Columns, listWrite, rowsWrite } from './write.ts';

/**
 * What the rules have made of a working set, as statements: one for each kind of row, whatever the
 * number of jobs. Records are replaced and never changed in place, so that another object is another
 * record.
 */
export function writesOf(set: WorkingSet): Write[] {
  return [...jobWrites(set), ...taskWrites(set), ...besideWrites(set), ...historyWrites(set)];
}

function jobWrites(set: WorkingSet): Write[] {
  const { data, before } = set;
  const fresh: OpenJob[] = [];
  const changed: OpenJob[] = [];
  const retimed: OpenJob[] = [];
  const turned: string[] = [];
  for (const [id, owner] of data.open) {
    const was = before.get(id);
    if (was === undefined) fresh.push(owner);
    else if (was.job !== owner.job) {
      changed.push(owner);
      if (was.job.held !== owner.job.held) turned.push(id);
    } else if (isRetimed(set, was, owner)) retimed.push(owner);
  }
  const ended = [...data.ended.values()].filter(({ id }) => !set.ended.has(id));
  const freshJobs = [...ended.filter(({ id }) => !before.has(id)), ...fresh.map(({ job }) => job)];
  const gone = ended.flatMap(({ id }) => (before.has(id) ? [id] : []));
  return [
    ...rowsWrite('inputs-insert', freshJobs.map(inputRow), inputColumns),
    ...rowsWrite('attributes-insert', freshJobs.flatMap(attributeRows), attributeColumns),
    ...listWrite('jobs-delete', gone),
    ...listWrite('beside-delete', gone),
    ...rowsWrite('ended-insert', ended.map(endedRow), endedColumns),
    ...rowsWrite(
      'jobs-insert',
      fresh.map((owner) => newJobRow(set, owner)),
      newJobColumns,
    ),
    ...rowsWrite(
      'jobs-update',
      changed.map((owner) => jobRow(set, owner)),
      jobColumns,
    ),
    ...rowsWrite(
      'jobs-retime',
      retimed.map((owner) => retimedRow(set, owner)),
      retimedColumns,
    ),
    ...listWrite('tasks-hold', turned),
    ...endedCounters(set, ended),
  ];
}

function isRetimed({ data }: WorkingSet, was: JobBefore, owner: OpenJob): boolean {
  return (
    was.deadlines !== owner.deadlines ||
    was.leaseEndsAt !== owner.leaseEndsAt ||
    was.lastSeq !== data.lastSeqOf(owner.job.id)
  );
}

const inputColumns: Columns<ReturnType<typeof inputRow>> = {
  id: text,
  client: text,
  correlation: text,
  pinned: text,
};

function inputRow(job: Job) {
  const { id, client, correlationId: correlation } = job;
  return { id, client, correlation, pinned: pinnedText(job) };
}

const attributeColumns: Columns<ReturnType<typeof attributeRows>[number]> = {
  name: text,
  value: text,
  job: text,
};

function attributeRows({ id, options }: Job) {
  return Object.entries(options.attributes).map(([name, value]) => ({
    name,
    value: canonicalJson(value),
    job: id,
  }));
}

type RetimedRow = ReturnType<typeof retimedRow>;

const retimedColumns: Columns<RetimedRow> = {
  id: text,
  lease_until: bigint,
  timers: text,
  due_at: bigint,
  last_seq: bigint,
};

function retimedRow({ data }: WorkingSet, { job, deadlines, leaseEndsAt }: OpenJob) {
  return {
    id: job.id,
    lease_until: leaseEndsAt,
    timers: JSON.stringify(deadlines),
    due_at: earliest(deadlines),
    last_seq: data.lastSeqOf(job.id),
  };
}

const jobColumns: Columns<ReturnType<typeof jobRow>> = {
  ...retimedColumns,
  version: bigint,
  status: text,
  state: text,
  held: boolean,
  runnable: boolean,
  lease_token: text,
  wait_key: text,
  place: bigint,
  entered_at: bigint,
  record: text,
  data: text,
};

function jobRow(set: WorkingSet, owner: OpenJob) {
  const { job, place } = owner;
  const { version, status, state, held } = job;
  return {
    ...retimedRow(set, owner),
    ...{ version, status, state, held, place },
    runnable: isRunnable(job),
    lease_token: job.lease?.token ?? null,
    wait_key: waitKeyOf(job),
    entered_at: job.enteredAt,
    record: recordText(job),
    data: JSON.stringify(job.data),
  };
}

const newJobColumns: Columns<ReturnType<typeof newJobRow>> = {
  ...jobColumns,
  client: text,
  correlation: text,
  blueprint: text,
  blueprint_version: bigint,
  created_at: bigint,
};

function newJobRow(set: WorkingSet, owner: OpenJob) {
  const { client, correlationId, blueprint, blueprintVersion, createdAt } = owner.job;
  return {
    ...jobRow(set, owner),
    ...{ client, blueprint },
    correlation: correlationId,
    blueprint_version: blueprintVersion,
    created_at: createdAt,
  };
}

const endedColumns: Columns<ReturnType<typeof endedRow>> = {
  id: text,
  client: text,
  correlation: text,
  blueprint: text,
  status: text,
  state: text,
  error_code: text,
  ended_at: bigint,
  record: text,
  data: text,
};

function endedRow(job: Job) {
  const { id, client, blueprint, status, state, error, endedAt } = job;
  return {
    ...{ id, client, blueprint, status, state },
    correlation: job.correlationId,
    error_code: error?.code ?? null,
    ended_at: endedAt,
    record: recordText(job),
    data: JSON.stringify(job.data),
  };
}

function endedCounters({ data }: WorkingSet, ended: readonly Job[]): Write[] {
  const sums = new Map<string, number>();
  const count = (name: string, by = 1): void => void sums.set(name, (sums.get(name) ?? 0) + by);
  for (const job of ended) {
    count(`ended:${job.status}`);
    if (endedPhase(job) === 'TIMEOUT') count('timed_out');
  }
  if (data.lostEntries > 0) count('lost_entries', data.lostEntries);
  return listWrite('counters-add', [...sums.keys()], [...sums.values()]);
}

const bookColumns: Columns<BookRow> = { job: text, seq: bigint, count: bigint, entries: text };

/** Last, so that readers of all jobs wait as short as may be. */
function historyWrites({ data: { bookRows } }: WorkingSet): Write[] {
  if (bookRows.length === 0) return [];
  return [
    { name: 'fence-history', parameters: [] },
    ...rowsWrite('history-insert', bookRows, bookColumns),
  ];
}
