import pg from 'pg';
import { postgresService } from '../packages/capataz/src/testing/postgres-service.ts';
import type { TestService } from '../packages/capataz/src/testing/services.ts';
import type { Setup } from './setup.ts';

/** Where the servers of one measurement keep their jobs: a data folder, or an empty schema. */
export class StorePlace {
  static #count = 0;
  readonly #service: TestService | null;
  readonly #schema: string;

  private constructor(service: TestService | null) {
    StorePlace.#count += 1;
    this.#service = service;
    this.#schema = `bench_${process.pid}_${StorePlace.#count}`;
  }

  /** PostgreSQL is the one of the tests: CAPATAZ_TEST_POSTGRES, the usual port, or one that is started. */
  static async make(store: Setup['store']): Promise<StorePlace> {
    return new StorePlace(store === 'postgres' ? await postgresService() : null);
  }

  /** Of `capataz serve`. */
  get flags(): readonly string[] {
    if (this.#service === null) return [];
    const url = new URL(this.#service.url);
    url.searchParams.set('schema', this.#schema);
    return ['--store-url', url.href];
  }

  /** Statements on the schema, past the servers. */
  async run(text: string): Promise<void> {
    if (this.#service === null) throw new Error('only PostgreSQL is reached past its servers');
    const client = new pg.Client({ connectionString: this.#service.url });
    await client.connect();
    try {
      await client.query(`SET search_path = ${this.#schema}`);
      await client.query(text);
    } finally {
      await client.end();
    }
  }

  async remove(): Promise<void> {
    if (this.#service === null) return;
    await this.run(`DROP SCHEMA ${this.#schema} CASCADE`);
    await this.#service.close();
  }
}
