import assert from 'node:assert/strict';
import { createReadStream, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createClient } from 'capataz/client';
import { chunks, preparedDisk, zeros } from '../files/fixtures.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { serveEngine } from '../testing/served-engine.ts';
import { until } from '../testing/until.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

const blueprints = [echoBlueprint];

test('A-57 a client uploads text, bytes and streams, lists and downloads', async () => {
  using disk = await preparedDisk();
  await using served = await serveEngine({ blueprints, files: disk.options });
  const { jobs, files } = createClient({ url: served.url });
  const { jobId } = await jobs.start('echo');
  writeFileSync(disk.at('local'), 'from disk');
  assert.deepEqual(await files.upload(jobId, 'a/text ä', 'ä'), { path: 'a/text ä', size: 2 });
  await files.upload(jobId, 'bytes', Buffer.from('bytes'));
  await files.upload(jobId, 'empty', '');
  await files.upload(jobId, 'pieces', chunks('one', ' two'));
  await files.upload(jobId, 'stream', createReadStream(disk.at('local')));
  const listed: [string, number][] = [];
  for await (const { path, size } of files.list(jobId)) listed.push([path, size]);
  assert.deepEqual(listed, [
    ['a/text ä', 2],
    ['bytes', 5],
    ['empty', 0],
    ['pieces', 7],
    ['stream', 9],
  ]);
  for (const [name, wanted] of [
    ['a/text ä', 'ä'],
    ['pieces', 'one two'],
    ['empty', ''],
  ] as const) {
    const { size, content } = await files.download(jobId, name);
    assert.deepEqual([await text(content), size], [wanted, Buffer.byteLength(wanted)]);
  }
  const { url } = await files.link(jobId, 'pieces', { expiresInSeconds: 60 });
  assert.equal(await (await fetch(url)).text(), 'one two');
});

test('A-57 refusals carry their code; a name that leads elsewhere never goes out', async () => {
  using disk = await preparedDisk({ maxBytes: 1_000 });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const { jobs, files } = createClient({ url: served.url });
  const { jobId } = await jobs.start('echo');
  await assert.rejects(files.download(jobId, 'no'), { code: 'FILE_NOT_FOUND' });
  await assert.rejects(files.download('no', 'no'), { code: 'JOB_NOT_FOUND' });
  await assert.rejects(files.upload(jobId, 'f', 'x'.repeat(1_001)), { code: 'PAYLOAD_TOO_LARGE' });
  await assert.rejects(files.upload(jobId, 'f', zeros(200_000)), { code: 'PAYLOAD_TOO_LARGE' });
  for (const name of ['../../x', '..', '/x', '']) {
    await assert.rejects(files.upload(jobId, name, 'x'), { code: 'FILE_NAME_INVALID' });
    await assert.rejects(files.download(jobId, name), { code: 'FILE_NAME_INVALID' });
  }
  const gaveUp = AbortSignal.abort();
  await assert.rejects(files.upload(jobId, 'f', 'x', { signal: gaveUp }));
});

test('A-57 a busy server is asked again for what can be sent twice', async () => {
  using disk = await preparedDisk({ maxTransfers: 1 });
  await using served = await serveEngine({ blueprints, files: disk.options });
  const clock = new VirtualClock();
  const { jobs, files } = createClient({ url: served.url, clock });
  const { jobId } = await jobs.start('echo');
  await files.upload(jobId, 'f', 'x');
  const held = await disk.store.get(jobId, 'f');
  await assert.rejects(files.upload(jobId, 'g', chunks('x')), { code: 'FILES_BUSY' });
  const sent = files.upload(jobId, 'g', 'x');
  await until(() => clock.pending > 0);
  held.content.destroy();
  await new Promise((resolve) => held.content.once('close', resolve));
  await clock.advance(2_000);
  assert.deepEqual(await sent, { path: 'g', size: 1 });
});
