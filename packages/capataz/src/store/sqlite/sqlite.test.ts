import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../std/clock.ts';
import { storeSuite } from '../../testing/store-suite.ts';
import {
  changeOf,
  commit,
  dispatching,
  newJob,
  read,
  second,
  store1,
  types,
} from '../../testing/store-suite-kit.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { describeHolder, openSqliteStore } from './index.ts';
import { migrate, readMigrations } from './migrate.ts';
import { statementText } from './statements.ts';

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'capataz-store-'));
}

storeSuite('sqlite', async () => {
  const clock = new VirtualClock();
  const folder = newFolder();
  let store = await openSqliteStore({ folder, clock });
  return {
    store,
    clock,
    reopen: async () => {
      await store.close();
      store = await openSqliteStore({ folder, clock });
      return store;
    },
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
});

/** A folder of its own, kept for a look when the body fails. */
async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = newFolder();
  await body(folder);
  rmSync(folder, { recursive: true });
}

interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** Resolves when so many lines have come. */
  until(count: number): Promise<void>;
}

const conditions = process.execArgv.filter((arg) => arg.startsWith('--conditions'));

function startChild(folder: string): Child {
  const program = fileURLToPath(new URL('./fixtures/endless-commits.ts', import.meta.url));
  const child = spawn(process.execPath, [...conditions, program, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  const until = async (count: number): Promise<void> => {
    while (lines.length < count) {
      assert.equal(child.exitCode, null, 'the child ended by itself');
      await once(reader, 'line');
    }
  };
  return { process: child, lines, until };
}

async function killed({ process: child }: Child): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

describe('the lock of a SQLite store', () => {
  it('S-43 a second start is refused with STORE_IN_USE, and the first goes on', () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder, clock: systemClock });
      await assert.rejects(openSqliteStore({ folder, clock: systemClock }), {
        code: 'STORE_IN_USE',
        message: new RegExp(`process ${process.pid} `),
      });
      await store1(store, changeOf(newJob('a')));
      await assert.rejects(openSqliteStore({ folder, clock: systemClock }), {
        code: 'STORE_IN_USE',
      });
      await store.close();
      const next = await openSqliteStore({ folder, clock: systemClock });
      assert.equal((await read(next, 'a')).version, 1);
      await next.close();
    }));

  it('S-43 another process is refused, and a killed holder leaves nothing behind', () =>
    inFolder(async (folder) => {
      const child = startChild(folder);
      await child.until(1);
      await assert.rejects(openSqliteStore({ folder, clock: systemClock }), {
        code: 'STORE_IN_USE',
        message: new RegExp(`process ${child.process.pid} .*http://127\\.0\\.0\\.1:1`),
      });
      assert.deepEqual(
        [describeHolder(folder)?.pid, describeHolder(folder)?.url],
        [child.process.pid, 'http://127.0.0.1:1'],
      );
      await killed(child);
      assert.equal(describeHolder(folder), null);
      const store = await openSqliteStore({ folder, clock: systemClock });
      assert.equal(describeHolder(folder)?.pid, process.pid);
      await store.close();
    }));

  it('S-67 the holder tells its address, and nobody is told of one that is gone', () =>
    inFolder(async (folder) => {
      assert.equal(describeHolder(folder), null);
      const store = await openSqliteStore({ folder, clock: systemClock });
      assert.equal(describeHolder(folder)?.url, null);
      store.publishUrl('http://127.0.0.1:8080');
      assert.equal(describeHolder(folder)?.url, 'http://127.0.0.1:8080');
      await store.close();
      assert.equal(describeHolder(folder), null);
    }));

  it('a store may be a file of any name', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'deep', 'jobs.sqlite');
      const store = await openSqliteStore({ file, clock: systemClock });
      await assert.rejects(openSqliteStore({ file, clock: systemClock }), { code: 'STORE_IN_USE' });
      await store.close();
      assert.ok(existsSync(file));
    }));
});

describe('the SQLite database', () => {
  it('S-43 kill -9 in the middle of commits loses nothing that was acknowledged', () =>
    inFolder(async (folder) => {
      const acknowledged: string[] = [];
      for (let round = 1; round <= 3; round += 1) {
        const child = startChild(join(folder, `round-${round}`));
        await child.until(40 * round);
        await killed(child);
        acknowledged.push(...child.lines.slice(1));
        const store = await openSqliteStore({
          folder: join(folder, `round-${round}`),
          clock: systemClock,
        });
        for (const id of child.lines.slice(1)) {
          assert.equal((await read(store, id)).status, 'finished');
          const book = await store.history(id, 0, 9);
          assert.deepEqual(
            book.map(({ type }) => type),
            ['state_entered', 'task_assigned', 'task_finished', 'job_finished'],
          );
        }
        const causes = await store.causes({ after: '', limit: 99 });
        assert.ok(causes.length <= 4, 'of each series one job may be under way');
        await store.close();
      }
      assert.ok(acknowledged.length > 200);
    }));

  it('S-4 commits that arrive while one runs share the next', () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder, clock: systemClock });
      const began = systemClock.steady();
      await store1(store, dispatching('first'));
      const oneMs = systemClock.steady() - began;
      const all = await Promise.all(
        Array.from({ length: 500 }, (_, index) => types(store, dispatching(`job-${index}`))),
      );
      assert.deepEqual(new Set(all.flat()), new Set(['done']));
      const allMs = systemClock.steady() - began;
      assert.ok(allMs < oneMs * 250, `500 commits took ${allMs} ms, one alone took ${oneMs} ms`);
      await store.close();
    }));

  it('a bug in one commit fails that commit alone', () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder, clock: systemClock });
      const broken = changeOf(newJob('b', { state: undefined as unknown as string }));
      const outcomes = await Promise.allSettled([
        commit(store, dispatching('a')),
        commit(store, broken),
        commit(store, dispatching('c')),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.deepEqual(
        (await store.jobs({ limit: 9 })).map(({ id }) => id),
        ['c', 'a'],
      );
      assert.deepEqual((await store.counts()).queued, 2);
      await store.close();
    }));

  it('waits while another process writes, and reads meanwhile', () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder, clock: systemClock });
      const other = new DatabaseSync(join(folder, 'capataz.db'));
      other.exec('BEGIN IMMEDIATE');
      const pending = store1(store, changeOf(newJob('a')));
      assert.equal(await store.job('a'), null);
      await new Promise((resolve) => systemClock.after(300, () => resolve(null)));
      other.exec('ROLLBACK');
      other.close();
      const job = await pending;
      assert.deepEqual(await store.job('a'), job);
      await store.close();
    }));

  it('a full disk refuses all who share the commit, changes nothing, and passes', () =>
    inFolder(async (folder) => {
      const program = fileURLToPath(new URL('./fixtures/full-disk.ts', import.meta.url));
      const command = 'ulimit -f 8192 && exec "$0" "$@"';
      const { stdout, stderr } = spawnSync(
        'sh',
        ['-c', command, process.execPath, ...conditions, program, folder],
        { encoding: 'utf8' },
      );
      assert.ok(stdout.startsWith('{'), stderr);
      assert.deepEqual(JSON.parse(stdout), {
        first: ['done'],
        codes: ['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
        later: ['done'],
        ids: ['d', 'a'],
      });
    }));

  it('the write-ahead file is empty after a close, and shrinks after a burst', () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder, clock: systemClock, synchronous: 'normal' });
      const wal = join(folder, 'capataz.db-wal');
      const reader = new DatabaseSync(join(folder, 'capataz.db'), { readOnly: true });
      reader.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM jobs').get();
      for (let number = 0; number < 50; number += 1) await store1(store, big(`big-${number}`));
      const grown = statSync(wal).size;
      assert.ok(grown > 40_000_000, `the file has ${grown} bytes`);
      reader.exec('COMMIT');
      reader.close();
      for (let number = 0; number < 5; number += 1) await store1(store, big(`more-${number}`));
      assert.ok(statSync(wal).size < grown / 2, 'what a slow reader made it grow is cut off');
      await store.close();
      assert.ok(!existsSync(wal));
    }));

  it('idempotency keys that have run out are swept, those of open jobs are kept', () =>
    inFolder(async (folder) => {
      const clock = new VirtualClock();
      const store = await openSqliteStore({ folder, clock });
      const keyed = (id: string, status: 'pending' | 'finished') => ({
        change: changeOf(newJob(id, { status })),
        idempotency: { key: id, bodyHash: 'h' },
      });
      await commit(
        store,
        ...Array.from({ length: 700 }, (_, index) => keyed(`ended-${index}`, 'finished')),
        keyed('open', 'pending'),
      );
      await clock.advance(86_400_000);
      for (const id of ['x', 'y', 'z']) {
        await store1(store, changeOf(newJob(id)));
        await clock.advance(60 * second);
      }
      await store.close();
      const database = new DatabaseSync(join(folder, 'capataz.db'));
      const keys = database
        .prepare('SELECT key FROM idempotency')
        .all()
        .map(({ key }) => key);
      database.close();
      assert.deepEqual(keys, ['open']);
    }));
});

describe('the schema of the SQLite store', () => {
  it('H-37 the outbox and its dead letters have the columns and indexes of the lifecycle seed', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, readMigrations());
    const columns = (table: string): unknown[] =>
      database
        .prepare(`SELECT name FROM pragma_table_info('${table}')`)
        .all()
        .map(({ name }) => name);
    const dead = [
      'id',
      'original_event_id',
      'aggregate_id',
      'aggregate_type',
      'event_type',
      'payload',
      'metadata',
      'error_message',
      'retry_count',
      'original_created_at',
      'moved_at',
      'resolved_at',
      'resolved_by',
      'resolution_notes',
    ];
    assert.deepEqual(columns('outbox_dlq'), dead);
    for (const column of ['retry_count', 'last_error'])
      assert.ok(columns('outbox_events').includes(column));
    const indexes = database
      .prepare("SELECT name FROM pragma_index_list('outbox_dlq') WHERE origin = 'c'")
      .all();
    // The seed's three, and one for their retention.
    assert.equal(indexes.length, 4);
    migrate(database, readMigrations());
    database.close();
  });

  it('released migrations never change: their checksums are kept', () => {
    const kept = JSON.parse(
      readFileSync(new URL('./migrations/checksums.json', import.meta.url), 'utf8'),
    ) as Record<string, string>;
    const found = readMigrations().map(({ name, text }) => [
      name,
      createHash('sha256').update(text).digest('hex'),
    ]);
    assert.deepEqual(Object.fromEntries(found), kept);
  });

  it('migrations are applied once and in order', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database);
    migrate(database);
    const numbers = database
      .prepare('SELECT number FROM migrations ORDER BY number')
      .all()
      .map(({ number }) => number);
    assert.deepEqual(
      numbers,
      readMigrations().map(({ number }) => number),
    );
    const next = {
      number: 9_001,
      name: '9001-next.sql',
      text: 'CREATE TABLE next (a) STRICT',
      breaking: false,
    };
    assert.throws(() => migrate(database, [...readMigrations(), next]), /datatype/);
    assert.equal(
      database.prepare('SELECT count(*) AS n FROM migrations WHERE number = 9001').get()?.['n'],
      0,
    );
    database.close();
  });

  it('a newer schema is refused with STORE_NEWER if it breaks this version, else accepted', () =>
    inFolder(async (folder) => {
      await (await openSqliteStore({ folder, clock: systemClock })).close();
      const mark = (breaking: number): void => {
        const database = new DatabaseSync(join(folder, 'capataz.db'));
        database
          .prepare("INSERT OR REPLACE INTO migrations VALUES (9002, '9002-later.sql', ?)")
          .run(breaking);
        database.close();
      };
      mark(0);
      await (await openSqliteStore({ folder, clock: systemClock })).close();
      mark(1);
      await assert.rejects(openSqliteStore({ folder, clock: systemClock }), {
        code: 'STORE_NEWER',
        message: /9002-later/,
      });
      assert.equal(describeHolder(folder), null);
    }));

  it('every statement file is used, and fits the schema', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database);
    const folder = new URL('./', import.meta.url);
    const names = readdirSync(folder).filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
    );
    const sources = names.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
    for (const file of readdirSync(new URL('./statements/', folder))) {
      const name = file.replace(/\.sql$/, '');
      assert.ok(sources.includes(`'${name}'`), `nothing uses ${file}`);
      database.prepare(statementText(name));
    }
    database.close();
  });
});

function big(id: string) {
  return changeOf(newJob(id, { input: { text: 'x'.repeat(1_000_000) } }));
}
