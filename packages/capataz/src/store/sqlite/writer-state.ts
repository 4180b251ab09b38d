import type { BookMessage } from './messages.ts';
import type { Statements } from './statements.ts';
import { textAt } from './texts.ts';

/** Entries of one commit of a job. */
export interface BookRow {
  readonly count: number;
  /** A JSON list. */
  readonly entries: string;
  readonly lost: number;
}

export function openBook({ count, entries, lost }: BookMessage, texts: readonly string[]): BookRow {
  return { count, entries: textAt(texts, entries), lost };
}

/**
 * What the writer keeps in memory. All of it can be read anew from the database, and is, when a
 * transaction was rolled back.
 */
export class WriterState {
  readonly statements: Statements;
  readonly #classIds = new Map<string, number>();
  readonly #added = new Map<string, number>();
  /** The last sequence in the book of jobs that were written to lately; this is the only writer. */
  readonly #lastSeqs = new Map<number, number>();
  #position = 0;
  #handOuts = 0;
  /** Whether anybody may wait for a share. */
  hasWaiters = false;

  constructor(statements: Statements) {
    this.statements = statements;
    this.reload();
  }

  reload(): void {
    const marks = this.statements.one<{ position: number; hand_outs: number }>('marks');
    this.#position = marks.position;
    this.#handOuts = marks.hand_outs;
    this.hasWaiters = this.statements.get('waiters-any') !== undefined;
    this.#classIds.clear();
    this.#added.clear();
    this.#lastSeqs.clear();
  }

  nextHandOut(): number {
    this.#handOuts += 1;
    return this.#handOuts;
  }

  /** The number of a class of tasks, which is new if it is asked for with its text. */
  classId(key: string, text: string): number {
    let id = this.#classIds.get(key);
    if (id === undefined) {
      ({ id } = this.statements.one<{ id: number }>('class-save', key, text));
      this.#remember(key, id);
    }
    return id;
  }

  knownClassId(key: string): number | undefined {
    let id = this.#classIds.get(key);
    if (id === undefined) {
      id = this.statements.get<{ id: number }>('class-find', key)?.id;
      if (id !== undefined) this.#remember(key, id);
    }
    return id;
  }

  /** Requirements may name one job's own file: the memory of classes must not grow for ever. */
  #remember(key: string, id: number): void {
    if (this.#classIds.size >= 10_000) this.#classIds.clear();
    this.#classIds.set(key, id);
  }

  /** The book of a new job begins at 1; any other goes on where it was, without a gap. */
  begin(job: number): void {
    this.#rememberSeq(job, 0);
  }

  write(job: number, book: BookRow, at: number): void {
    if (book.count === 0) return;
    const { count, entries, lost } = book;
    this.#position += 1;
    const last = this.#lastSeq(job);
    const seq = last + count;
    this.statements.run('history-insert', this.#position, job, seq, at, count, entries);
    this.#rememberSeq(job, seq);
    if (lost > 0) this.count('lost_entries', lost);
  }

  /** Of the last entry in a job's book. */
  #lastSeq(job: number): number {
    return this.#lastSeqs.get(job) ?? this.statements.one<{ seq: number }>('history-last', job).seq;
  }

  #rememberSeq(job: number, seq: number): void {
    if (this.#lastSeqs.size >= 50_000) this.#lastSeqs.clear();
    this.#lastSeqs.set(job, seq);
  }

  /** Positions are never given twice, even where the rows that had them are gone. */
  keepPosition(): void {
    this.statements.run('mark-raise', 'position', this.#position);
  }

  /** The job has ended; its book hardly grows any more. */
  release(job: number): void {
    this.#lastSeqs.delete(job);
  }

  count(name: string, by = 1): void {
    this.#added.set(name, (this.#added.get(name) ?? 0) + by);
  }

  /** Counters are written once a transaction. */
  writeCounters(): void {
    for (const [name, by] of this.#added) this.statements.run('counter-add', name, by);
    this.#added.clear();
  }
}
