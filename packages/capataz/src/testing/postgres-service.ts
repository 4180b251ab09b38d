import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processEnvironment } from '../config/environment.ts';
import { systemClock } from '../std/clock.ts';
import { answers, freePorts, type TestService, whenUp } from './services.ts';

/** Debian keeps the server's programs out of the way of the shell. */
const binaries = '/usr/lib/postgresql/15/bin';
const stopTimeoutMs = 20_000;

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
  if (existsSync(join(binaries, 'postgres'))) return startPostgres();
  throw new Error(
    'these tests need PostgreSQL: install it (Debian: apt-get install postgresql), ' +
      'or name one by CAPATAZ_TEST_POSTGRES=postgres://user:password@host:port/database',
  );
}

/** The server refuses to run as root: there it runs as Debian's own user. */
async function startPostgres(): Promise<TestService> {
  const [port = 0] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), 'capataz-postgres-'));
  const user = serverUser();
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const as = { ...user, cwd: '/', encoding: 'utf8' } as const;
  const data = join(folder, 'data');
  const made = spawnSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust'],
    as,
  );
  if (made.status !== 0)
    throw new Error(`no PostgreSQL for the tests could be made: ${made.stderr}`);
  const settings = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder];
  const server = spawn(join(binaries, 'postgres'), settings, {
    ...user,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const close = async (): Promise<void> => {
    if (server.exitCode === null && server.signalCode === null) {
      const exited = once(server, 'exit');
      const cancel = systemClock.after(stopTimeoutMs, () => server.kill('SIGQUIT'));
      server.kill('SIGINT');
      await exited;
      cancel();
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await whenUp('PostgreSQL', { server, port, clock: systemClock });
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, host: '127.0.0.1', port, close };
}

/** The server refuses to run as root. */
export function serverUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
}
