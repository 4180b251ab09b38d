import pg from 'pg';
import type { Scene } from './scene.ts';

/** Of the server in these tests: so many are taken by others. */
export const maxConnections = 30;

export interface Outage {
  readonly name: string;
  readonly lastsMs: number;
  /** It is over for moments, and each time told anew. */
  readonly comesAndGoes?: boolean;
  /** @returns what ends it. */
  begin(scene: Scene): Promise<() => Promise<void>>;
}

export const outages: readonly Outage[] = [
  {
    name: 'PostgreSQL is restarted',
    lastsMs: 2_000,
    begin: async ({ postgres }) => {
      await postgres.stop();
      return () => postgres.start();
    },
  },
  {
    name: 'PostgreSQL is killed, and started again',
    lastsMs: 2_000,
    begin: async ({ postgres }) => {
      await postgres.kill();
      return () => postgres.start();
    },
  },
  {
    name: 'no process of PostgreSQL does anything for ten seconds',
    lastsMs: 10_000,
    begin: async ({ postgres }) => {
      postgres.freeze();
      return async () => postgres.thaw();
    },
  },
  {
    name: 'connections are cut, and none comes about',
    lastsMs: 3_000,
    begin: async ({ network }) => {
      network.refuse();
      return async () => network.pass();
    },
  },
  {
    name: 'the network swallows everything on the connections that are open',
    lastsMs: 0,
    begin: async ({ network }) => {
      network.strand();
      return async () => undefined;
    },
  },
  {
    name: 'all connections are taken by others',
    lastsMs: 3_000,
    begin: async ({ postgres }) => {
      const hogs = await takeAllConnections(postgres.url);
      return async () => {
        await Promise.all(hogs.map((hog) => hog.end()));
      };
    },
  },
  {
    name: 'the database is read-only',
    lastsMs: 3_000,
    begin: async ({ postgres }) => {
      await set(postgres.url, 'on');
      return () => set(postgres.url, 'off');
    },
  },
];

async function set(url: string, readOnly: 'on' | 'off'): Promise<void> {
  await asOperator(url, [
    `ALTER SYSTEM SET default_transaction_read_only = ${readOnly}`,
    'SELECT pg_reload_conf()',
  ]);
}

export async function asOperator(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** As a firewall or an operator does it. */
export async function endIdleConnections(url: string): Promise<void> {
  await asOperator(url, [
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name ~ '^capataz' AND state = 'idle' LIMIT 3`,
  ]);
}

/** Ends the servers' own and takes the places that come free, all at once, until it has them all. */
async function takeAllConnections(url: string): Promise<pg.Client[]> {
  const hogs: pg.Client[] = [];
  while (hogs.length < maxConnections) {
    // One by one a busy machine lost the race against the servers, who come back as fast, for minutes.
    const wanted = Array.from({ length: maxConnections - hogs.length }, () => connected(url));
    for (const one of await Promise.allSettled(wanted))
      if (one.status === 'fulfilled') hogs.push(one.value);
    if (hogs.length < maxConnections)
      await hogs[0]?.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^capataz'`,
      );
  }
  return hogs;
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
