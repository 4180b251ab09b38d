import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../std/log.ts';
import type { Store } from '../store/contract.ts';
import { ArchivePlaces } from '../store/fixtures/archives.ts';
import type { Place } from '../store/fixtures/place.ts';
import { openSqliteStore } from '../store/sqlite/index.ts';
import { changeOf, commit, dispatching, newJob, store1 } from '../testing/store-suite-kit.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { Archivist } from './archivist.ts';
import { Books } from './books.ts';
import { hasty } from './fixtures/apart.ts';

const places = new ArchivePlaces();
const program = fileURLToPath(new URL('./fixtures/killed-archivist.ts', import.meta.url));
const conditions = ['--conditions=capataz-source', '--disable-warning=ExperimentalWarning'];

function open({ kind, name }: Place): Promise<Store> {
  return kind === 'sqlite'
    ? openSqliteStore({ folder: name, clock: new VirtualClock() })
    : places.schemas.open(name);
}

describe('moving books, killed', () => {
  for (const kind of ['sqlite', 'postgres'] as const) {
    it(`A-73 on ${kind} at any page, before it is deleted here or after, leaves neither a gap nor a double`, async () => {
      const to = places.new(kind);
      const name = kind === 'sqlite' ? `${to.name}-store` : places.schemas.newName();
      const from: Place = { kind, name };
      const filled = await open(from);
      const two = [{ type: 'timer_set' }, { type: 'job_held' }] as const;
      const jobs = Array.from({ length: 12 }, (_, index) =>
        changeOf(newJob(`job-${index}`, { status: 'finished' }), { history: two }),
      );
      await commit(filled, ...jobs);
      await store1(filled, dispatching('open'));
      const { events: truth } = await filled.events(0, 999);
      await filled.close();
      for (const moment of ['written', 'deleted'] as const) {
        for (const pages of [1, 2]) {
          const order = JSON.stringify({ url: places.schemas.url, from, to, moment, pages });
          const asked = [...conditions, program, order];
          const { signal, stderr } = spawnSync(process.execPath, asked, { encoding: 'utf8' });
          assert.equal(signal, 'SIGKILL', stderr);
          const store = await open(from);
          const archive = places.open(to);
          const books = new Books(store, archive);
          assert.deepEqual((await books.events(0, 999)).events, truth, `${moment} ${pages}`);
          assert.equal((await books.history('job-0', 0, 9)).length, 2);
          await archive.close();
          await store.close();
        }
      }
      const store = await open(from);
      const archive = places.open(to);
      assert.ok((await archive.events(0, 999, 999)).events.length > 0, 'some were moved');
      await new Archivist({ store: hasty(store), archive, log: silentLog }).sweep();
      assert.equal((await archive.events(0, 999, 999)).events.length, truth.length - 1);
      assert.deepEqual((await new Books(store, archive).events(0, 999)).events, truth);
      assert.equal((await store.events(0, 999)).events.length, 1);
      await archive.close();
      await store.close();
      if (kind === 'postgres') await places.schemas.drop(name);
      await places.remove(to);
    });
  }
});
