import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { fileNameParts } from '../protocol/files.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { chunks, Disk, preparedDisk, textOf } from './fixtures.ts';

const job = '0199a000-0000-7000-8000-000000000001';
const other = '0199a000-0000-7000-8000-000000000002';
const maxBytes = 1_000;

test('A-56 what is put is there, under jobs/{job_id}/, and a second one replaces it', async () => {
  using disk = await preparedDisk();
  const { store } = disk;
  const stored = await store.put(job, 'a/b/c.txt', chunks('one', ' two'), { maxBytes });
  assert.deepEqual(stored, { path: 'a/b/c.txt', size: 7 });
  assert.equal(readFileSync(disk.at('jobs', job, 'a/b/c.txt'), 'utf8'), 'one two');
  await store.put(job, 'a/b/c.txt', chunks('three'), { maxBytes });
  const file = await store.get(job, 'a/b/c.txt');
  assert.deepEqual([file.size, await textOf(file)], [5, 'three']);
  await store.put(job, 'empty', chunks(), { maxBytes });
  const empty = await store.get(job, 'empty');
  assert.deepEqual([empty.size, await textOf(empty)], [0, '']);
  assert.deepEqual(readdirSync(disk.at('incoming')), []);
  assert.equal(store.freeTransfers, 20);
});

test('A-56 an upload that fails, is too large or is not confirmed leaves what was there', async () => {
  using disk = await preparedDisk();
  const { store } = disk;
  await store.put(job, 'f', chunks('before'), { maxBytes });
  const failing = (async function* () {
    yield Buffer.from('half');
    throw new Error('the caller hung up');
  })();
  await assert.rejects(store.put(job, 'f', failing, { maxBytes }), /hung up/);
  await assert.rejects(store.put(job, 'f', chunks('12345', '6'), { maxBytes: 5 }), {
    code: 'PAYLOAD_TOO_LARGE',
  });
  const confirm = (): Promise<void> => Promise.reject(new Error('no longer'));
  await assert.rejects(store.put(job, 'f', chunks('x'), { maxBytes, confirm }), /no longer/);
  const signal = AbortSignal.abort();
  await assert.rejects(store.put(job, 'f', chunks('x'), { maxBytes, signal }));
  assert.equal(await textOf(await store.get(job, 'f')), 'before');
  assert.deepEqual(readdirSync(disk.at('incoming')), []);
  assert.equal(store.freeTransfers, 20);
});

const badNames = [
  '',
  '/etc/passwd',
  '..',
  '../x',
  'a/../../x',
  'a/..',
  './x',
  'a//b',
  'a/',
  'a\0b',
  'a\nb',
  '..\\x',
  'a\\b',
  '\ud800',
  'x'.repeat(256),
  'ä'.repeat(128),
  `${'abc/'.repeat(250)}x`,
];

test('A-56 names that leave the folder are refused with a stable code, in every verb', async () => {
  using disk = await preparedDisk();
  writeFileSync(disk.at('secret'), 'x');
  const refused = { code: 'FILE_NAME_INVALID' };
  for (const name of badNames) {
    await assert.rejects(disk.store.put(job, name, chunks('x'), { maxBytes }), refused, name);
    await assert.rejects(disk.store.get(job, name), refused, name);
    await assert.rejects(disk.store.link(job, name, 1_000), refused, name);
  }
  for (const id of ['..', '../..', 'a/b', '', 'a\0']) {
    const unknown = { code: 'JOB_NOT_FOUND' };
    await assert.rejects(disk.store.put(id, 'f', chunks('x'), { maxBytes }), unknown);
    await assert.rejects(disk.store.get(id, 'f'), unknown);
    await assert.rejects(disk.store.remove(id), unknown);
  }
  assert.deepEqual(readdirSync(disk.folder).sort(), ['incoming', 'jobs', 'removed', 'secret']);
  assert.deepEqual(readdirSync(disk.at('jobs')), []);
  assert.equal(disk.store.freeTransfers, 20);
});

test('A-56 a name that is taken never means another place', () => {
  const part = fc.constantFrom('a', '.', '..', '', '...', 'b c', '~', '%2e%2e', 'é');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
      const name = parts.join('/');
      const isGood = parts.length > 0 && parts.every((p) => !['', '.', '..'].includes(p));
      if (isGood) assert.deepEqual(fileNameParts(name), parts);
      else assert.throws(() => fileNameParts(name), { code: 'FILE_NAME_INVALID' });
    }),
  );
});

test('A-56 symbolic links are not followed: file, folder, and folder of the job', async () => {
  using disk = await preparedDisk();
  using outside = await preparedDisk();
  writeFileSync(outside.at('f'), 'secret');
  mkdirSync(disk.at('jobs', job));
  symlinkSync(outside.at('f'), disk.at('jobs', job, 'file'));
  symlinkSync(outside.folder, disk.at('jobs', job, 'folder'));
  symlinkSync(outside.folder, disk.at('jobs', other));
  const { store } = disk;
  const refused = { code: 'FILE_NAME_INVALID' };
  await assert.rejects(store.get(job, 'file'), refused);
  await assert.rejects(store.get(job, 'folder/f'), refused);
  await assert.rejects(store.get(other, 'f'), refused);
  await assert.rejects(store.put(job, 'folder/g', chunks('x'), { maxBytes }), refused);
  await assert.rejects(store.put(job, 'folder/new/g', chunks('x'), { maxBytes }), refused);
  await assert.rejects(store.put(other, 'g', chunks('x'), { maxBytes }), refused);
  assert.deepEqual(await store.list(job, { after: '', limit: 9 }), []);
  // A link in the place of the file is replaced, and what it leads to stays.
  await store.put(job, 'file', chunks('mine'), { maxBytes });
  assert.equal(await textOf(await store.get(job, 'file')), 'mine');
  await store.remove(job);
  assert.equal(readFileSync(outside.at('f'), 'utf8'), 'secret');
  assert.deepEqual(readdirSync(outside.folder).sort(), ['f', 'incoming', 'jobs', 'removed']);
});

test('A-56 a file is no folder, and the other way round', async () => {
  using disk = await preparedDisk();
  const { store } = disk;
  await store.put(job, 'a/b', chunks('x'), { maxBytes });
  const refused = { code: 'FILE_NAME_INVALID' };
  await assert.rejects(store.put(job, 'a', chunks('x'), { maxBytes }), refused);
  await assert.rejects(store.put(job, 'a/b/c', chunks('x'), { maxBytes }), refused);
  const absent = { code: 'FILE_NOT_FOUND' };
  for (const name of ['a', 'a/b/c', 'no', 'no/no']) {
    await assert.rejects(store.get(job, name), absent, name);
  }
  await assert.rejects(store.get(other, 'a/b'), absent);
  assert.equal(store.freeTransfers, 20);
});

test('A-56 at most so many transfers are under way; a handler waits its turn', async () => {
  using disk = await preparedDisk({ maxTransfers: 2 });
  const { store } = disk;
  await store.put(job, 'f', chunks('x'), { maxBytes });
  const first = await store.get(job, 'f');
  const second = await store.get(job, 'f');
  const busy = { code: 'FILES_BUSY', details: { retry_after_ms: 1_000 } };
  await assert.rejects(store.get(job, 'f'), busy);
  await assert.rejects(store.put(job, 'g', chunks('x'), { maxBytes }), busy);
  const gaveUp = new AbortController();
  const { signal } = gaveUp;
  const given = assert.rejects(store.get(job, 'f', { whenBusy: 'wait', signal }), /enough/);
  const waiting = store.get(job, 'f', { whenBusy: 'wait' });
  gaveUp.abort(new Error('enough'));
  await given;
  first.content.destroy();
  await textOf(await waiting);
  await textOf(second);
  assert.equal(store.freeTransfers, 2);
});

test('A-56 files are listed by name, page by page', async () => {
  using disk = await preparedDisk();
  const { store } = disk;
  const names = ['a.txt', 'a/1', 'a/b/2', 'a0', 'b', 'z/9'];
  for (const name of [...names].reverse()) await store.put(job, name, chunks(name), { maxBytes });
  for (let limit = 1; limit <= names.length; limit += 1) {
    const seen: string[] = [];
    for (let after = ''; ; after = seen.at(-1) ?? '') {
      const page = await store.list(job, { after, limit });
      if (page.length === 0) break;
      assert.ok(page.length <= limit);
      for (const { path, size, modifiedAt } of page) {
        assert.equal(size, path.length);
        assert.ok(modifiedAt > 0);
        seen.push(path);
      }
    }
    assert.deepEqual(seen, names);
  }
  assert.deepEqual(await store.list(other, { after: '', limit: 9 }), []);
});

test('A-58 jobs with files are told in pages, and removed as a whole', async () => {
  using disk = await preparedDisk();
  const { store } = disk;
  const ids = Array.from({ length: 25 }, (_, at) => `job-${String(at).padStart(2, '0')}`);
  for (const id of ids.toReversed()) await store.put(id, 'a/f', chunks('x'), { maxBytes });
  assert.deepEqual(await store.jobs({ after: '', limit: 3 }), ids.slice(0, 3));
  assert.deepEqual(await store.jobs({ after: 'job-02', limit: 30 }), ids.slice(3));
  const open = await store.get('job-00', 'a/f');
  await store.remove('job-00');
  await store.remove('job-00');
  assert.equal(await textOf(open), 'x');
  assert.deepEqual(await store.jobs({ after: '', limit: 1 }), ['job-01']);
  assert.deepEqual(readdirSync(disk.at('removed')), []);
});

test('A-58 what a crash left half done is cleared at the start, what is stored stays', async () => {
  using disk = await preparedDisk();
  await disk.store.put(job, 'f', chunks('x'), { maxBytes });
  writeFileSync(disk.at('incoming', 'half'), 'x');
  mkdirSync(disk.at('removed', 'gone', 'a'), { recursive: true });
  writeFileSync(disk.at('removed', 'gone', 'a', 'f'), 'x');
  const next = new Disk({ folder: disk.folder });
  await next.store.prepare();
  assert.deepEqual(readdirSync(disk.at('incoming')), []);
  assert.deepEqual(readdirSync(disk.at('removed')), []);
  assert.ok(existsSync(disk.at('jobs', job, 'f')));
});

test('A-56 a link is good for its job, file and time, also after a restart', async () => {
  const clock = new VirtualClock();
  using disk = await preparedDisk({ clock });
  const { url, expiresAt } = await disk.store.link(job, 'a/ä b', 60_000);
  assert.equal(expiresAt, clock.now() + 60_000);
  const { pathname, searchParams } = new URL(url, 'http://x');
  assert.equal(pathname, `/_public/files/${job}/a/%C3%A4%20b`);
  const link = {
    jobId: job,
    name: 'a/ä b',
    expires: searchParams.get('expires') ?? '',
    signature: searchParams.get('signature') ?? '',
  };
  const restarted = new Disk({ folder: disk.folder, clock });
  await restarted.store.redeem(link);
  const invalid = { code: 'LINK_INVALID' };
  for (const change of [
    { jobId: other },
    { name: 'a/b' },
    { expires: String(Number(link.expires) + 1) },
    { signature: '' },
    { signature: `${link.signature.slice(0, -2)}AA` },
  ]) {
    await assert.rejects(disk.store.redeem({ ...link, ...change }), invalid);
  }
  using elsewhere = await preparedDisk({ clock });
  await assert.rejects(elsewhere.store.redeem(link), invalid);
  await clock.advance(60_000);
  await assert.rejects(disk.store.redeem(link), invalid);
});
