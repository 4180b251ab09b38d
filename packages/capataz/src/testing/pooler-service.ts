import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../std/clock.ts';
import { debianProgram } from './debian-program.ts';
import { serverUser } from './private-postgres.ts';
import { freePorts, type TestService, whenUp } from './services.ts';

/** A pooler in front of a server, that lends each of few connections for one transaction. */
export async function poolerService(server: TestService): Promise<TestService> {
  const program = debianProgram('/usr/sbin/pgbouncer', 'pgbouncer');
  const [port = 0] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), 'capataz-pooler-'));
  const user = serverUser();
  const file = join(folder, 'pgbouncer.ini');
  const { username } = new URL(server.url);
  writeFileSync(
    file,
    `[databases]
* = host=${server.host} port=${server.port} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`,
  );
  if (user !== null) for (const path of [folder, file]) chownSync(path, user.uid, user.gid);
  const pooler = spawn(program, [file], { ...user, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  const close = async (): Promise<void> => {
    if (pooler.exitCode === null && pooler.signalCode === null) {
      const exited = once(pooler, 'exit');
      pooler.kill('SIGKILL');
      await exited;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await whenUp('pgbouncer', { server: pooler, port, clock: systemClock });
  } catch (error) {
    await close();
    throw error;
  }
  const url = new URL(server.url);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return { url: url.href, host: '127.0.0.1', port, close };
}
