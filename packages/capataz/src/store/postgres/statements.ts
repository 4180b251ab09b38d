import type { Client, ClientBase, QueryConfig, QueryResult } from 'pg';
import { sqlTexts } from '../../std/sql-texts.ts';

export const statementText = sqlTexts(new URL('./statements/', import.meta.url));

export type Parameter =
  | string
  | number
  | boolean
  | null
  | Buffer
  | readonly (string | number | null)[];

/** A statement that each transaction begins with over a connection that was lent for it. */
export interface Entrance {
  readonly text: string;
  readonly values: readonly string[];
}

/**
 * One connection. What is asked in one turn of the event loop travels together, and is answered in
 * order. Each connection prepares a statement when it first needs it; one that was lent for a
 * transaction prepares none, since the next borrower would not know of it.
 */
export class Session {
  readonly #client: ClientBase;
  readonly #entrance: Entrance | null;
  #isGathering = false;

  /** @param entrance null: the connection is ours */
  constructor(client: ClientBase, entrance: Entrance | null = null) {
    this.#client = client;
    this.#entrance = entrance;
  }

  /** Why it was not let in: what came behind in the same message failed only because of that. */
  refusal: unknown = null;

  get isLent(): boolean {
    return this.#entrance !== null;
  }

  /** `Row` is what the statement's header promises; the driver can't know it. */
  async all<Row>(name: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    const query = { text: statementText(name), values: [...parameters] };
    const named = this.isLent ? query : { ...query, name };
    return (await this.#query(named)).rows as Row[];
  }

  /** For the few statements that are put together. */
  async allOf<Row>(text: string, parameters: readonly Parameter[]): Promise<Row[]> {
    return (await this.#query(text, [...parameters])).rows as Row[];
  }

  /** @param text how it begins */
  async begin(text = 'BEGIN'): Promise<void> {
    const begun = [this.#query(text)];
    if (this.#entrance !== null) {
      const { text: entrance, values } = this.#entrance;
      const entered = this.#query(entrance, [...values]);
      entered.catch((error: unknown) => {
        this.refusal = error;
      });
      begun.push(entered);
    }
    await Promise.all(begun);
  }

  /** @returns what the server did: a transaction that has failed is rolled back. */
  async commit(): Promise<string> {
    return (await this.#query('COMMIT')).command;
  }

  /**
   * What follows in this turn leaves in one message: the driver would send each statement for itself, a
   * system call here and a wake-up there.
   */
  #query(asked: string | QueryConfig, values?: Parameter[]): Promise<QueryResult> {
    if (!this.#isGathering) {
      this.#isGathering = true;
      // The driver's types keep it from the clients of a pool, which are the same.
      const { stream } = (this.#client as Client).connection;
      stream.cork();
      queueMicrotask(() => {
        this.#isGathering = false;
        stream.uncork();
      });
    }
    return this.#client.query(asked, values);
  }
}
