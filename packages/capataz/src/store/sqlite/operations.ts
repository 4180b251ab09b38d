import { unreachable } from '../../std/assert.ts';
import { Chains, HandOutRoom } from '../rules.ts';
import { beside } from './beside.ts';
import { booksMoved } from './books.ts';
import type { FoundJob } from './change-plan.ts';
import { applyChange } from './changes.ts';
import { applyClaim, applyStart } from './claims.ts';
import { mark, postLetter } from './inbox.ts';
import type { Answer, ChangeAnswer, CommitAnswer, CommitOperation, Operation } from './messages.ts';
import { redriveLetters, resolveLetters, settleOutbox } from './outbox.ts';
import { expireKeys, forgetEnded } from './retention.ts';
import { type TextBag, textAt } from './texts.ts';
import { openBook, type WriterState } from './writer-state.ts';

/** Does one operation inside the running transaction. Texts of its answer go into `bag`. */
export function applyOperation(state: WriterState, operation: Operation, bag: TextBag): Answer {
  const { at } = operation;
  const { statements } = state;
  switch (operation.type) {
    case 'commit':
      return applyCommit(state, operation, at, bag);
    case 'renew_leases':
      return operation.leases
        .filter(
          ({ jobId, token, until }) =>
            statements.run('lease-renew', jobId, token, until).changes === 0,
        )
        .map(({ token }) => token);
    case 'save_worker':
      statements.run('worker-save', operation.id, operation.worker, at, operation.silentAt);
      return null;
    case 'touch_workers':
      for (const { id, worker, seenAt, silentAt } of operation.touches) {
        statements.run('worker-touch', id, worker, seenAt, silentAt);
      }
      return null;
    case 'remove_worker':
      statements.run('worker-remove', operation.id, operation.incarnation);
      return null;
    case 'offer_blueprint': {
      const { name, version, graph } = operation;
      return statements.one<{ graph: string }>('blueprint-offer', name, version, graph, at).graph;
    }
    case 'settle_outbox':
      settleOutbox(state, operation.verdicts, at);
      return null;
    case 'redrive_letters':
      return redriveLetters(state, operation.ids, at);
    case 'resolve_letters':
      return resolveLetters(state, operation, at);
    case 'forget_letters':
      return statements.run('dlq-forget', operation.before, operation.limit).changes;
    case 'keep_schedule':
      return keepSchedule(state, operation);
    case 'take_over':
      statements.run('leases-end', at);
      statements.run('silences-prolong', at, at + operation.graceMs);
      return null;
    case 'save_memo':
      return saveMemo(state, operation);
    case 'forget_ended':
      return forgetEnded(state, operation.what, at);
    case 'books_moved':
      booksMoved(state, operation, at);
      return null;
    case 'archive_forgot':
      statements.run('archive-forgot', JSON.stringify(operation.jobIds));
      return null;
    case 'close':
      statements.run('mark-raise', 'time', at);
      return null;
    default:
      return unreachable(operation);
  }
}

function applyCommit(
  state: WriterState,
  operation: CommitOperation,
  at: number,
  bag: TextBag,
): CommitAnswer {
  const { texts } = operation;
  const chains = new Chains();
  const changes = operation.changes.map((change): ChangeAnswer => {
    if (chains.isBroken(change.id, change.decidedOn)) return { type: 'stale' };
    const answer = applyChange(state, { change, texts }, at, bag);
    if (answer.type !== 'done') chains.refused(change.id, change.decidedOn);
    return answer;
  });
  for (const start of operation.starts) applyStart(state, start, at);
  for (const { jobId, book } of operation.notes) {
    const job =
      state.statements.get<{ n: number }>('job-find', jobId) ??
      state.statements.get<{ n: number }>('ended-find', jobId);
    if (job !== undefined) state.write(job.n, openBook(book, texts), at);
  }
  const letters = operation.letters.map((letter) => postLetter(state, letter, texts, at));
  const room = new HandOutRoom();
  const claims = operation.claims.map((claim) => applyClaim(state, claim, room, at, bag));
  return { changes, claims, letters };
}

/** @returns whether the lease is current. */
function saveMemo(
  state: WriterState,
  { jobId, token, name, value, texts }: Operation & { type: 'save_memo' },
): boolean {
  const found = state.statements.get<FoundJob>('job-find', jobId);
  if (found?.lease_token !== token) return false;
  mark(state, found, beside.memos);
  state.statements.run('memo-save', found.n, name, textAt(texts, value));
  return true;
}

/** @returns whether it was read as it stands. */
function keepSchedule(
  { statements }: WriterState,
  { at, name, expected, handled, recent, pause }: Operation & { type: 'keep_schedule' },
): boolean {
  if (expected === null) {
    if (statements.run('schedule-insert', name, handled ?? at).changes === 0) return false;
  }
  const known = expected ?? handled ?? at;
  const paused = pause === undefined ? null : Number(pause.isPaused);
  const by = pause?.by ?? null;
  const given = [handled ?? null, recent ?? null, paused, by] as const;
  return statements.run('schedule-keep', name, known, ...given, at).changes > 0;
}

const sweepEveryMs = 60_000;
const sweepLimit = 500;

/** What each transaction does besides, at most so often. */
export class Housekeeping {
  #markedAt = 0;
  #sweptAt = 0;

  atEndOf(state: WriterState, at: number): void {
    state.writeCounters();
    if (at - this.#markedAt < 1_000) return;
    this.#markedAt = at;
    state.statements.run('mark-raise', 'time', at);
    if (at - this.#sweptAt >= sweepEveryMs) this.#sweep(state, at);
  }

  /** Its transaction was rolled back: the next one writes the mark, and so shows if it can write. */
  undone(): void {
    this.#markedAt = 0;
  }

  /** A slice of what has run out; a full slice means that more is waiting. */
  #sweep(state: WriterState, at: number): void {
    const swept = ['letters-sweep', 'shares-sweep'].map(
      (name) => state.statements.run(name, at, sweepLimit).changes,
    );
    const moreKeys = expireKeys(state, at);
    if (!moreKeys && Math.max(...swept) < sweepLimit) this.#sweptAt = at;
  }
}
