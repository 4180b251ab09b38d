import { endedPhase } from '../../core/phase.ts';
import type { FinalStatus } from '../../core/status.ts';
import type { Forget, Forgotten } from '../contract.ts';
import { isToForget } from '../rules.ts';
import type { WriterState } from './writer-state.ts';

/**
 * Rows and pages that one call deletes, about: 10 to 20 ms, in which all other writes wait. A limit
 * of jobs alone would be none, since one of them may have a book of a million rows, or payloads of
 * megabytes whose pages all have to be freed.
 */
const maxWork = 10_000;
const keysAtOnce = 500;
/** A key whose job is open although it is old is looked at again after this time. */
const lookAgainMs = 3_600_000;

interface EndedRow {
  readonly ordinal: number;
  readonly n: number;
  readonly id: string;
  readonly status: FinalStatus;
  /** Of a job that failed. */
  readonly error_code: string | null;
  readonly ended_at: number;
  readonly pages: number;
}

export function forgetEnded(state: WriterState, what: Forget, at: number): Forgotten {
  const due = dueJobs(state, what, at);
  const jobIds = forget(state, due.slice(0, what.limit));
  if (due.length > 0) {
    // What goes may have held the latest of both.
    state.statements.run('mark-raise', 'time', at);
    state.keepPosition();
  }
  const moreKeys = expireKeys(state, at);
  return { jobIds, more: jobIds.length < due.length || moreKeys };
}

/** One more than the limit, if there is one. */
function dueJobs(state: WriterState, what: Forget, at: number): EndedRow[] {
  // What ended in this very transaction is counted in memory yet.
  state.writeCounters();
  const { total } = state.statements.one<{ total: number }>('ended-total');
  const surplus = what.keepAtMost === null ? 0 : total - what.keepAtMost;
  const oldest = state.statements.all<EndedRow>('ended-oldest', what.limit + 1);
  const kept = oldest.findIndex(
    ({ ended_at: endedAt }, index) =>
      !isToForget(what, { endedAt, isSurplus: index < surplus }, at),
  );
  return kept === -1 ? oldest : oldest.slice(0, kept);
}

/** @returns the ids of those that are gone. */
function forget(state: WriterState, due: readonly EndedRow[]): string[] {
  const gone: string[] = [];
  let work = maxWork;
  for (const { ordinal, n, id, status, error_code: code, pages } of due) {
    const book = weighBook(state, n, work);
    // Half a book goes only where it is too long for a whole call.
    if (!book.isWhole && gone.length > 0) break;
    state.statements.run('book-cut', n, book.upTo);
    if (!book.isWhole) break;
    state.statements.run('ended-delete', ordinal);
    state.statements.run('input-delete', n);
    state.statements.run('attributes-delete', id);
    state.statements.run('seen-delete', n);
    state.statements.run('archive-forget', id);
    state.release(n);
    state.count(`ended:${status}`, -1);
    const error = code === null ? null : { code, message: '' };
    if (endedPhase({ status, error }) === 'TIMEOUT') state.count('timed_out', -1);
    gone.push(id);
    work -= book.work + pages + 2;
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

function weighBook({ statements }: WriterState, job: number, maxBookWork: number): BookWeight {
  const rows = statements.all<{ seq: number; pages: number }>('book-weigh', job, maxBookWork);
  let work = 0;
  let upTo = 0;
  for (const { seq, pages } of rows) {
    if (work >= maxBookWork) return { work, upTo, isWhole: false };
    work += pages + 1;
    upTo = seq;
  }
  return { work, upTo, isWhole: rows.length < maxBookWork };
}

/** A slice of the idempotency keys that have run out. @returns whether more of them may be waiting. */
export function expireKeys({ statements }: WriterState, at: number): boolean {
  const prolonged = statements.run('keys-prolong', at, at + lookAgainMs, keysAtOnce).changes;
  const expired = statements.run('keys-expire', at, keysAtOnce).changes;
  return prolonged === keysAtOnce || expired === keysAtOnce;
}
