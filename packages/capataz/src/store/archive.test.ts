import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, test } from 'node:test';
import { CapatazError } from '../protocol/errors.ts';
import { migrationsIn } from '../std/migrations.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { Archive, BookRow } from './contract.ts';
import { ArchivePlaces, archiveAt } from './fixtures/archives.ts';
import type { Place } from './fixtures/place.ts';
import { openSqliteStore } from './sqlite/index.ts';

const places = new ArchivePlaces();

/** `a 1@3`: of job a up to the first entry, at position 3. */
function row(jobId: string, position: number, seq: number, count = 1): BookRow {
  const entries = Array.from({ length: count }, (_, index) => ({
    type: 'timer_set',
    reason: `${seq - count + 1 + index} ü\u2028`,
  }));
  const about = { client: 'dev', correlationId: `c-${jobId}` };
  return {
    position,
    jobId,
    seq,
    at: 1_000 + position,
    count,
    entries: JSON.stringify(entries),
    ...about,
  };
}

const rows = [row('a', 3, 1), row('b', 4, 2, 2), row('a', 7, 4, 3)];

async function withArchive(
  kind: Place['kind'],
  work: (archive: Archive, place: Place) => Promise<void>,
): Promise<void> {
  const place = places.new(kind);
  const archive = places.open(place);
  try {
    await work(archive, place);
  } finally {
    await archive.close();
    await places.remove(place);
  }
}

for (const kind of ['sqlite', 'postgres'] as const) {
  describe(`archive ${kind}`, () => {
    it('A-45 A-73 S-45 rows are kept once, however often they are written, also over a restart', () =>
      withArchive(kind, async (archive, place) => {
        await archive.write(rows.slice(0, 2));
        await archive.write(rows);
        await archive.close();
        const reopened = places.open(place);
        await reopened.write(rows);
        const book = await reopened.history('a', 0, 9);
        assert.deepEqual(
          book.map(({ seq, at, reason }) => [seq, at, reason]),
          [
            [1, 1_003, '1 ü\u2028'],
            [2, 1_007, '2 ü\u2028'],
            [3, 1_007, '3 ü\u2028'],
            [4, 1_007, '4 ü\u2028'],
          ],
        );
        assert.deepEqual(await reopened.history('a', 2, 1), book.slice(2, 3));
        assert.deepEqual(await reopened.history('none', 0, 9), []);
        const page = await reopened.events(0, 99, 99);
        assert.deepEqual(
          page.events.map(({ jobId, position, entry }) => `${jobId} ${entry.seq}@${position}`),
          ['a 1@3', 'b 1@4', 'b 2@4', 'a 2@7', 'a 3@7', 'a 4@7'],
        );
        assert.partialDeepStrictEqual(page.events[1], { client: 'dev', correlationId: 'c-b' });
        assert.equal((await reopened.events(3, 6, 99)).events.length, 2);
        assert.deepEqual((await reopened.events(0, 99, 2)).position, 4);
        await reopened.forget(['a', 'none']);
        assert.deepEqual(await reopened.history('a', 0, 9), []);
        assert.equal((await reopened.history('b', 0, 9)).length, 2);
        await reopened.close();
      }));

    it('A-73 rows of another store are refused, and nothing of them is written', () =>
      withArchive(kind, async (archive) => {
        await archive.write(rows);
        const others = [row('x', 1, 1), row('y', 3, 1)];
        await assert.rejects(archive.write(others), {
          code: 'CONFIG_INVALID',
          message: /holds the history of another store/,
        });
        assert.deepEqual(await archive.history('x', 0, 9), []);
        await archive.write([row('b', 8, 3)]);
      }));

    it('A-73 a place that holds a store is refused', () =>
      withArchive(kind, async (_, place) => {
        const clock = new VirtualClock();
        const store =
          kind === 'sqlite'
            ? await openSqliteStore({ file: place.name, clock })
            : await places.schemas.open(place.name);
        await store.close();
        const archive = places.open(place);
        await assert.rejects(archive.write(rows), {
          code: 'CONFIG_INVALID',
          message: /is no history database but a store/,
        });
        await archive.close();
      }));
  });
}

test('A-73 a server that is not there is an outage, and says so without the password', async () => {
  const place = { kind: 'postgres', name: 'nowhere' } as const;
  const archive = archiveAt(place, 'postgres://ann:secret@127.0.0.1:9/database');
  await assert.rejects(archive.history('a', 0, 9), (error) => {
    assert.ok(error instanceof CapatazError);
    assert.match(error.message, /postgres:\/\/127\.0\.0\.1:9\/database\?schema=nowhere/);
    assert.doesNotMatch(error.message, /secret/);
    assert.deepEqual([error.code, error.status], ['STORE_UNAVAILABLE', 503]);
    return true;
  });
  await archive.close();
});

test('A-73 a disk that is not there is an outage, and is used once it is', async () => {
  const place = places.new('sqlite');
  const folder = dirname(place.name);
  writeFileSync(folder, 'no folder');
  const archive = places.open(place);
  await assert.rejects(archive.write(rows), { code: 'STORE_UNAVAILABLE' });
  renameSync(folder, `${folder}.txt`);
  mkdirSync(folder);
  await archive.write(rows);
  assert.equal((await archive.history('a', 0, 9)).length, 4);
  await archive.close();
});

test('A-73 a file that was removed while it was open takes nothing more', async () => {
  const clock = new VirtualClock();
  const place = places.new('sqlite');
  const archive = archiveAt(place, '', clock);
  await archive.write(rows);
  renameSync(place.name, `${place.name}.old`);
  await clock.advance(10_000);
  await assert.rejects(archive.write(rows), { code: 'STORE_UNAVAILABLE', message: /was removed/ });
  await archive.close();
});

test('released migrations of archives never change: their checksums are kept', () => {
  for (const store of ['sqlite', 'postgres']) {
    const folder = new URL(`./${store}/archive/migrations/`, import.meta.url);
    const kept: unknown = JSON.parse(readFileSync(new URL('checksums.json', folder), 'utf8'));
    const found = migrationsIn(folder).map(({ name, text }) => [
      name,
      createHash('sha256').update(text).digest('hex'),
    ]);
    assert.deepEqual(Object.fromEntries(found), kept, join(store, 'archive'));
  }
});
