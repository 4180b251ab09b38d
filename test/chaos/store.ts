import pg from 'pg';
import { systemRandom } from '../../packages/capataz/src/std/random.ts';
import { postgresService } from '../../packages/capataz/src/testing/postgres-service.ts';

/** The URL of an empty store on the PostgreSQL of the tests, for as long as `use` takes. */
export async function withPostgresStore<T>(use: (storeUrl: string) => Promise<T>): Promise<T> {
  const service = await postgresService();
  const schema = `test_${systemRandom.id().replaceAll('-', '')}`;
  const url = new URL(service.url);
  url.searchParams.set('schema', schema);
  try {
    return await use(url.href);
  } finally {
    const client = new pg.Client({ connectionString: service.url });
    await client.connect();
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await client.end();
    await service.close();
  }
}
