/** What happens to the writing thread and to the folder while a store is open. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import {
  changeOf,
  claimOf,
  commit,
  dispatching,
  newJob,
  read,
  second,
  store1,
} from '../../testing/store-suite-kit.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { openSqliteStore, type SqliteStore } from './index.ts';

interface Opened {
  readonly store: SqliteStore;
  readonly clock: VirtualClock;
  readonly folder: string;
  /** The writing threads so far. */
  readonly threads: readonly Worker[];
}

/** A store of its own; its folder is kept for a look when the body fails. */
async function withStore(body: (opened: Opened) => Promise<void>): Promise<void> {
  const parent = mkdtempSync(join(tmpdir(), 'capataz-outage-'));
  const folder = join(parent, 'data');
  const threads: Worker[] = [];
  const onThread = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onThread);
  const clock = new VirtualClock();
  const store = await openSqliteStore({ folder, clock });
  try {
    await body({ store, clock, folder, threads });
  } finally {
    process.off('worker', onThread);
    await store.close();
  }
  rmSync(parent, { recursive: true });
}

/** The thread's next message is no JSON, which it does not survive. */
function crash(threads: readonly Worker[]): void {
  threads.at(-1)?.postMessage('{');
}

const uncertain = {
  code: 'STORE_UNAVAILABLE',
  message: /the writing thread died .*It is unknown whether it was stored\.$/,
};

test('a writing thread that dies leaves its questions uncertain, and another one goes on', () =>
  withStore(async ({ store, threads }) => {
    const job = await store1(store, changeOf(newJob('a')));
    crash(threads);
    const lost = [commit(store, changeOf(newJob('b'))), commit(store, changeOf(newJob('c')))];
    for (const each of lost) await assert.rejects(each, uncertain);
    const meanwhile = commit(store, changeOf(newJob('d')));
    await store1(store, changeOf({ ...job, state: 'merge' }));
    assert.equal((await meanwhile)[0]?.type, 'done');
    assert.equal((await read(store, 'a')).state, 'merge');
    assert.equal(threads.length, 2);
  }));

test('after three new threads within a minute the fourth death refuses everything for good', () =>
  withStore(async ({ store, clock, threads }) => {
    const crashes = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time += 1) {
        await store1(store, changeOf(newJob(`job-${threads.length}`)));
        crash(threads);
        await assert.rejects(store.removeWorker('w', 'w-1'), uncertain);
      }
    };
    await crashes(3);
    await clock.advance(60 * second);
    await crashes(4);
    const refused = { code: 'STORE_UNAVAILABLE', message: /died more than 3 times.*restart/ };
    await assert.rejects(store.removeWorker('w', 'w-1'), refused);
    await clock.advance(60 * second);
    await assert.rejects(commit(store, changeOf(newJob('late'))), refused);
    assert.equal((await store.jobs({ limit: 99 })).length, 7, 'it can still be read');
    assert.equal(threads.length, 7);
  }));

test('what can not be sent fails alone, not those that travel with it', () =>
  withStore(async ({ store }) => {
    const choice = { ...claimOf().choice, cost: 1n as unknown as number };
    const outcomes = await Promise.allSettled([
      commit(store, dispatching('a')),
      store.commit({ claims: [claimOf({ choice })] }),
      commit(store, dispatching('c')),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((await store.jobs({ limit: 9 })).length, 2);
  }));

test('a folder that is removed or replaced under an open store is noticed within 10 s', () =>
  withStore(async ({ store, clock, folder }) => {
    await store1(store, changeOf(newJob('a')));
    const aside = `${folder}-aside`;
    renameSync(folder, aside);
    await clock.advance(10 * second);
    const refusedAs = (what: string) => ({
      code: 'STORE_UNAVAILABLE',
      message: new RegExp(`capataz\\.db was ${what}.* Nothing was changed\\.$`),
    });
    await assert.rejects(commit(store, changeOf(newJob('b'))), refusedAs('removed'));
    mkdirSync(folder);
    const other = await openSqliteStore({ folder, clock });
    await clock.advance(10 * second);
    await assert.rejects(commit(store, changeOf(newJob('b'))), refusedAs('replaced'));
    await assert.rejects(store.removeWorker('w', 'w-1'), refusedAs('replaced'));
    await other.close();
    rmSync(folder, { recursive: true });
    renameSync(aside, folder);
    await clock.advance(10 * second);
    await store1(store, changeOf(newJob('b')));
    assert.equal((await store.jobs({ limit: 9 })).length, 2);
  }));

test('a thread that dies while the folder is gone makes no empty database there', () =>
  withStore(async ({ store, folder, threads }) => {
    renameSync(folder, `${folder}-aside`);
    mkdirSync(folder);
    crash(threads);
    await assert.rejects(store.removeWorker('w', 'w-1'), uncertain);
    await assert.rejects(store.removeWorker('w', 'w-1'), { message: /capataz\.db was removed/ });
    assert.equal(threads.length, 1);
    rmSync(folder, { recursive: true });
    renameSync(`${folder}-aside`, folder);
  }));

test('what a rolled back commit left in memory is gone, even where the disk fails again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-disk-'));
  const file = (name: string): string =>
    fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--import',
      file('failing-disk-hook.ts'),
      '--conditions=capataz-source',
      file('failing-disk.ts'),
      folder,
    ],
    { encoding: 'utf8' },
  );
  assert.ok(stdout.startsWith('{'), stderr);
  assert.deepEqual(JSON.parse(stdout), {
    refused: 'STORE_UNAVAILABLE',
    sequences: [1, 2, 3],
    handedOut: ['blue'],
  });
  rmSync(folder, { recursive: true });
});
