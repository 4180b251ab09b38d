import type { ClientBase } from 'pg';
import { sqlTexts } from '../../std/sql-texts.ts';

export const statementText = sqlTexts(new URL('./statements/', import.meta.url));

export type Parameter =
  | string
  | number
  | boolean
  | null
  | Buffer
  | readonly (string | number | null)[];

/**
 * One connection. What is asked in one turn of the event loop travels together, and is answered in
 * order. Each connection prepares a statement when it first needs it.
 */
export class Session {
  readonly #client: ClientBase;

  constructor(client: ClientBase) {
    this.#client = client;
  }

  /** `Row` is what the statement's header promises; the driver can't know it. */
  async all<Row>(name: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    const query = { name, text: statementText(name), values: [...parameters] };
    return (await this.#client.query(query)).rows as Row[];
  }

  /** For the few statements that are put together. */
  async allOf<Row>(text: string, parameters: readonly Parameter[]): Promise<Row[]> {
    return (await this.#client.query(text, [...parameters])).rows as Row[];
  }

  /** @returns what the server did: a transaction that has failed is rolled back by COMMIT. */
  async command(text: string): Promise<string> {
    return (await this.#client.query(text)).command;
  }
}
