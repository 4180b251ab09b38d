import type { BookMessage, WriterOptions } from './messages.ts';
import type { Statements } from './statements.ts';

/**
 * What the writer keeps in memory. All of it can be read anew from the database, and is, when a
 * transaction was rolled back.
 */
export class WriterState {
  readonly statements: Statements;
  readonly history: WriterOptions['history'];
  readonly #classIds = new Map<string, number>();
  readonly #added = new Map<string, number>();
  #position = 0;
  #handOuts = 0;
  #hasReservations = false;

  constructor(statements: Statements, history: WriterOptions['history']) {
    this.statements = statements;
    this.history = history;
    this.reload();
  }

  reload(): void {
    const marks = this.statements.one<{ position: number; hand_outs: number }>('marks');
    this.#position = marks.position;
    this.#handOuts = marks.hand_outs;
    this.#hasReservations = this.statements.get('shares-any') !== undefined;
    this.#classIds.clear();
    this.#added.clear();
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

  write(job: number, book: BookMessage, at: number): void {
    if (book.count === 0) return;
    this.#position += 1;
    this.statements.run('history-insert', this.#position, job, book.count, at, book.entries);
    if (book.lost > 0) this.count('lost_entries', book.lost);
  }

  /** Positions are never given twice, even where the rows that had them are gone. */
  forget(job: number): void {
    this.statements.run('history-delete', job);
    this.statements.run('mark-raise', 'position', this.#position);
  }

  reserve(): void {
    this.#hasReservations = true;
  }

  release(job: number): void {
    if (this.#hasReservations) this.statements.run('shares-release', job);
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
