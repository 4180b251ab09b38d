import { endedPhase } from '../../core/phase.ts';
import type { FinalStatus } from '../../core/status.ts';
import type { Forget, Forgotten } from '../contract.ts';
import { isToForget } from '../rules.ts';
import type { Connections, Write } from './connections.ts';
import type { Session } from './statements.ts';
import { listWrite } from './write.ts';

/** Rows and pages that one call deletes, about: its locks are held until all of it is done. */
const maxWork = 10_000;
const keysAtOnce = 500;
/** A key whose job is open although it is old is looked at again after this time. */
const lookAgainMs = 3_600_000;
/** Expired shares and letters that go with a call. */
const sweptAtOnce = 500;

interface EndedRow {
  readonly id: string;
  readonly status: FinalStatus;
  /** Of a job that failed. */
  readonly error_code: string | null;
  readonly ended_at: number;
  readonly pages: number;
}

/** What goes in this call: jobs whole, and the beginnings of books. */
interface Gone {
  readonly jobs: EndedRow[];
  readonly cuts: { readonly job: string; readonly upTo: number }[];
}

export function forgetEnded(
  connections: Connections,
  what: Forget,
  given: number | null,
): Promise<Forgotten> {
  return connections.transaction(async (session) => {
    const [, , began] = await Promise.all([
      session.begin(),
      session.all('lock-forgetting'),
      session.all<{ at: number }>('begin', given, false, false),
    ]);
    const at = began[0]?.at ?? 0;
    const due = await dueJobs(session, what, at);
    const gone = await weighed(session, due.slice(0, what.limit));
    const [prolonged, expired] = await Promise.all([
      session.all<{ count: number }>('keys-prolong', lookAgainMs, keysAtOnce),
      session.all<{ count: number }>('keys-expire', keysAtOnce),
      session.all('sweep', sweptAtOnce),
    ]);
    const moreKeys = [prolonged, expired].some((rows) => rows[0]?.count === keysAtOnce);
    const jobIds = gone.jobs.map(({ id }) => id);
    const result = { jobIds, more: jobIds.length < due.length || moreKeys };
    return { result, writes: due.length === 0 ? [] : writesOf(gone, at) };
  });
}

/** One more than the limit, if there is one. */
async function dueJobs(session: Session, what: Forget, at: number): Promise<EndedRow[]> {
  const [total, oldest] = await Promise.all([
    session.all<{ total: number }>('ended-total'),
    session.all<EndedRow>('ended-oldest', what.limit + 1),
  ]);
  const surplus = what.keepAtMost === null ? 0 : (total[0]?.total ?? 0) - what.keepAtMost;
  const kept = oldest.findIndex(
    ({ ended_at: endedAt }, index) =>
      !isToForget(what, { endedAt, isSurplus: index < surplus }, at),
  );
  return kept === -1 ? oldest : oldest.slice(0, kept);
}

/** Half a book goes only where it is too long for a whole call. */
async function weighed(session: Session, due: readonly EndedRow[]): Promise<Gone> {
  const gone: Gone = { jobs: [], cuts: [] };
  let work = maxWork;
  for (const row of due) {
    const book = await weighBook(session, row.id, work);
    if (!book.isWhole && gone.jobs.length > 0) break;
    gone.cuts.push({ job: row.id, upTo: book.upTo });
    if (!book.isWhole) break;
    gone.jobs.push(row);
    work -= book.work + row.pages + 2;
    if (work <= 0) break;
  }
  return gone;
}

interface BookWeight {
  readonly work: number;
  /** The sequence up to which the work allows to go: one row at least, if there is one. */
  readonly upTo: number;
  readonly isWhole: boolean;
}

async function weighBook(session: Session, job: string, maxBookWork: number): Promise<BookWeight> {
  const rows = await session.all<{ seq: number; pages: number }>('book-weigh', job, maxBookWork);
  let work = 0;
  let upTo = 0;
  for (const { seq, pages } of rows) {
    if (work >= maxBookWork) return { work, upTo, isWhole: false };
    work += pages + 1;
    upTo = seq;
  }
  return { work, upTo, isWhole: rows.length < maxBookWork };
}

function writesOf({ jobs, cuts }: Gone, at: number): Write[] {
  const sums = new Map<string, number>();
  const count = (name: string): void => void sums.set(name, (sums.get(name) ?? 0) - 1);
  for (const { status, error_code: code } of jobs) {
    count(`ended:${status}`);
    const error = code === null ? null : { code, message: '' };
    if (endedPhase({ status, error }) === 'TIMEOUT') count('timed_out');
  }
  return [
    ...listWrite(
      'books-cut',
      cuts.map(({ job }) => job),
      cuts.map(({ upTo }) => upTo),
    ),
    ...listWrite(
      'ended-delete',
      jobs.map(({ id }) => id),
    ),
    ...listWrite(
      'archive-forget',
      jobs.map(({ id }) => id),
    ),
    ...listWrite('counters-add', [...sums.keys()], [...sums.values()]),
    { name: 'counters-fold', parameters: [] },
    // What goes may have held the latest instant.
    { name: 'mark-raise', parameters: ['time', at] },
  ];
}
