import type { Job } from '../../core/job.ts';
import { taskClass } from '../../core/requirements.ts';
import { assert } from '../../std/assert.ts';
import type { HeldReservation, OpenJob, TaskRecord } from '../memory/data.ts';
import { waitKeyOf } from '../memory/shares.ts';
import { deadlinesOf } from '../rows.ts';
import { type Answers, ask, type LockedJob, type ShareRow } from './ask.ts';
import { LockedTooLittle } from './errors.ts';
import { jobOf, type TaskRow, taskOf } from './rows.ts';
import type { Session } from './statements.ts';
import type { Touched } from './touched.ts';
import { classId, pairKey, WorkingSet } from './working-set.ts';

/**
 * Begins the transaction of a batch, locks what it touches and reads it, in one round trip.
 * @throws LockedTooLittle where a job has come by a key meanwhile that is not locked: to be begun anew.
 */
export async function load(
  session: Session,
  touched: Touched,
  given: number | null,
): Promise<WorkingSet> {
  const answers = await ask(session, touched, given);
  const [begun] = answers.begun;
  assert(begun !== undefined, 'a transaction began without an instant');
  const set = new WorkingSet({
    at: begun.at,
    places: begun.places,
    handOuts: begun.hand_outs,
  });
  putJobs(set, answers);
  putTasks(set, answers, touched);
  putBeside(set, answers);
  putShares(set, answers.shares);
  const locked = new Set(answers.locked[0]?.keys);
  if (!areLocked(set, touched, locked)) throw new LockedTooLittle();
  set.remember(touched.classes.keys());
  return set;
}

function putJobs(set: WorkingSet, { hot, ended, heads }: Answers): void {
  const { data } = set;
  const known = new Set(hot.map(({ id }) => id));
  const owners = heads.flatMap((row): LockedJob[] => {
    if (known.has(row.job)) return [];
    known.add(row.job);
    const { job: id, job_n: n, job_lease_until: lease_until, job_timers: timers } = row;
    const { version, client, correlation, wait_key, place, last_seq, job_status: status } = row;
    const columns = { version, client, correlation, wait_key, place, last_seq, timers };
    return [{ id, n, status, lease_until, held: false, ...columns, ...unread }];
  });
  // In the order of arrival, as letters and waiting jobs are served.
  for (const row of [...hot, ...owners].sort((a, b) => a.n - b.n)) {
    data.open.set(row.id, openJobOf(row));
    data.putBook(row.id, row.last_seq);
  }
  for (const { id, client, correlation, status, last_seq } of ended) {
    set.ended.add(id);
    data.putBook(id, last_seq);
    // The rules ask no more of an ended job.
    data.ended.set(id, { id, client, correlationId: correlation, status } as Job);
  }
}

const unread = { record: null, data: null, pinned: null };

function glimpseOf(id: string): OpenJob {
  return openOf({ id, wait: null } as Job, { lease_until: null, timers: '{}', place: null });
}

function openJobOf(row: LockedJob): OpenJob {
  const { record, data, pinned } = row;
  const isWhole = record !== null && data !== null && pinned !== null;
  return openOf(isWhole ? jobOf({ record, data, pinned }) : outlineOf(row), row);
}

/** A job that is replaced, or stays without being asked: only its fences, its book and its line count. */
function outlineOf({ id, version, client, correlation, status, held, wait_key: key }: LockedJob) {
  const wait = key === null ? null : { type: 'timer', to: null, key };
  return { id, version, client, correlationId: correlation, status, held, wait } as Job;
}

function openOf(job: Job, row: Pick<LockedJob, 'lease_until' | 'timers' | 'place'>): OpenJob {
  return {
    job,
    deadlines: deadlinesOf(row),
    leaseEndsAt: row.lease_until,
    tasks: new Map(),
    place: row.place,
    inbox: [],
    seen: new Set(),
    memos: new Map(),
  };
}

function putTasks(set: WorkingSet, { tasks, heads, sizes }: Answers, touched: Touched): void {
  const { data } = set;
  const claimed = new Map([...touched.classes.keys()].map((key) => [classId(key), key]));
  const found = new Map<string, number>();
  for (const row of [...tasks, ...heads]) {
    const owner = data.open.get(row.job);
    if (owner === undefined || owner.tasks.has(row.id)) continue;
    const record = recordOf(row, claimed.get(row.class));
    owner.tasks.set(row.id, record);
    if (row.queued) found.set(row.class, (found.get(row.class) ?? 0) + 1);
    if ('watched' in row && row.watched && row.worker !== null) watch(set, row.worker);
  }
  for (const { class: id, size, is_cut: isCut } of sizes) {
    if (isCut || size > (found.get(id) ?? 0)) set.fullClasses.add(id);
  }
}

/** The rules ask only whether a worker is known. */
function watch({ data }: WorkingSet, worker: string): void {
  data.workers.set(worker, { lastSeenAt: 0, silentAt: 0 } as never);
}

function recordOf(row: TaskRow, classKey: string | undefined): TaskRecord {
  const task = taskOf(row);
  return {
    task,
    classKey: classKey ?? (row.spec === null ? '' : taskClass(task.spec).key),
    deadlines: deadlinesOf(row),
    arrival: row.n,
    handOut: row.hand_out ?? 0,
  };
}

function putBeside(set: WorkingSet, answers: Answers): void {
  const { data } = set;
  for (const { n, job, id, kind, name, expires_at: expiresAt } of answers.inbox) {
    const record = { item: { id, kind, name, body: null }, expiresAt };
    data.open.get(job)?.inbox.push(record);
    set.inboxRows.set(record, n);
  }
  for (const { job, id } of answers.seen) data.open.get(job)?.seen.add(id);
  for (const { n, address, id, kind, name, body, expires_at: expiresAt } of answers.letters) {
    const letter = { address, item: { id, kind, name, body: JSON.parse(body) }, expiresAt };
    data.letters.push(letter);
    set.letterRows.set(letter, n);
  }
  for (const { address, job } of answers.addressed) {
    const jobs = data.addresses.get(address) ?? new Set();
    data.addresses.set(address, jobs.add(job));
  }
  for (const row of answers.keys) {
    const { client, key, body_hash: bodyHash, job: jobId, created_at: createdAt } = row;
    const name = pairKey(client, key);
    // As long as its job is open, and was created before the key ran out.
    const isOpen = createdAt !== null && createdAt < row.expires_at;
    const expiresAt = isOpen ? Number.POSITIVE_INFINITY : row.expires_at;
    const used = { key, bodyHash, jobId, expiresAt };
    data.keys.set(name, used);
    set.keyRows.set(name, used);
  }
  for (const { id } of answers.children) {
    // Only that it is there is asked: a job of which nothing is known, and nothing is written.
    if (!data.open.has(id)) data.open.set(id, glimpseOf(id));
  }
}

function putShares(set: WorkingSet, rows: readonly ShareRow[]): void {
  for (const { id, key, job, amount, expires_at: expiresAt, until_wait } of rows) {
    // Sums are nobody's, so that they are others' for everybody.
    const until = until_wait ? 'wait' : 'job';
    const share: HeldReservation = { jobId: job, key, amount, expiresAt, until };
    set.data.reservations.push(share);
    if (id === null) set.sums.add(share);
    else set.shareRows.set(share, id);
  }
}

/** Between the look for keys and the lock on the jobs another commit may have given a job one more. */
function areLocked({ data }: WorkingSet, touched: Touched, locked: ReadonlySet<string>): boolean {
  for (const { jobId, key } of data.reservations) {
    if (jobId !== null && !locked.has(key)) return false;
  }
  for (const id of touched.jobs) {
    const owner = data.open.get(id);
    const key = owner === undefined ? null : waitKeyOf(owner.job);
    if (key !== null && !locked.has(key)) return false;
  }
  return true;
}
