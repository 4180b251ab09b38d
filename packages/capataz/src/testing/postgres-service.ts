import { processEnvironment } from '../config/environment.ts';
import { PrivatePostgres } from './private-postgres.ts';
import { answers, type TestService } from './services.ts';

/**
 * The server of CAPATAZ_TEST_POSTGRES, else the one on 127.0.0.1:5432, else one that is started with a
 * port and a folder of its own. Never a reason to skip: where there is none it says what to install.
 */
export async function postgresService(): Promise<TestService> {
  const given = processEnvironment().CAPATAZ_TEST_POSTGRES;
  const url = given ?? 'postgres://postgres@127.0.0.1:5432/postgres';
  const { hostname: host, port: portText } = new URL(url);
  const port = Number(portText === '' ? 5432 : portText);
  if (await answers(host, port)) return { url, host, port, close: async () => undefined };
  if (given !== undefined)
    throw new Error(`CAPATAZ_TEST_POSTGRES: ${host}:${port} does not answer`);
  if (PrivatePostgres.isInstalled()) return PrivatePostgres.open();
  throw new Error(
    'these tests need PostgreSQL: install it (Debian: apt-get install postgresql), ' +
      'or name one by CAPATAZ_TEST_POSTGRES=postgres://user:password@host:port/database',
  );
}
