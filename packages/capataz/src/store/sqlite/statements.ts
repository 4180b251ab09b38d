import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { assert } from '../../std/assert.ts';
import { sqlTexts } from '../../std/sql-texts.ts';

export const statementText = sqlTexts(new URL('./statements/', import.meta.url));

/** The statements of one connection, each prepared when it is first needed and kept. */
export class Statements {
  readonly #database: DatabaseSync;
  readonly #texts: (name: string) => string;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #composed = new Map<string, StatementSync>();

  /** `texts`: by name; default: the store's. */
  constructor(database: DatabaseSync, texts = statementText) {
    this.#database = database;
    this.#texts = texts;
  }

  run(name: string, ...parameters: SQLInputValue[]): { changes: number; rowid: number } {
    const { changes, lastInsertRowid } = this.#statement(name).run(...parameters);
    return { changes: Number(changes), rowid: Number(lastInsertRowid) };
  }

  /** `Row` is what the statement's header promises; node:sqlite can't know it. */
  get<Row>(name: string, ...parameters: SQLInputValue[]): Row | undefined {
    return this.#statement(name).get(...parameters) as Row | undefined;
  }

  /** `get` for statements that always give a row. */
  one<Row>(name: string, ...parameters: SQLInputValue[]): Row {
    const row = this.get<Row>(name, ...parameters);
    assert(row !== undefined, `statement ${name} gave no row`);
    return row;
  }

  all<Row>(name: string, ...parameters: SQLInputValue[]): Row[] {
    return this.#statement(name).all(...parameters) as Row[];
  }

  /** For the few statements that are put together; their number is bounded by forgetting all. */
  allOf<Row>(text: string, ...parameters: SQLInputValue[]): Row[] {
    return this.#composedOf(text).all(...parameters) as Row[];
  }

  /** The same for a statement that writes, with its parameters by name. */
  runOf(text: string, parameters: Record<string, SQLInputValue>): void {
    this.#composedOf(text).run(parameters);
  }

  /** Rows one by one, however many there are. */
  eachOf<Row>(text: string): IterableIterator<Row> {
    return this.#composedOf(text).iterate() as IterableIterator<Row>;
  }

  #composedOf(text: string): StatementSync {
    let statement = this.#composed.get(text);
    if (statement === undefined) {
      if (this.#composed.size >= 100) this.#composed.clear();
      statement = this.#database.prepare(text);
      this.#composed.set(text, statement);
    }
    return statement;
  }

  #statement(name: string): StatementSync {
    let statement = this.#prepared.get(name);
    if (statement === undefined) {
      statement = this.#database.prepare(this.#texts(name));
      this.#prepared.set(name, statement);
    }
    return statement;
  }
}
