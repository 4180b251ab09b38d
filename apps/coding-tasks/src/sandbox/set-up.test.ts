import assert from 'node:assert/strict';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { test } from 'node:test';
import { ProvingGround } from './fixtures/proving-ground.ts';

const installing = (script: string) => ({
  setUp: {
    command: ['sh', '-c', script] as const,
    files: ['deps.lock', 'manifest.txt'],
    hasNetwork: false,
  },
});

/** Leaves a package that says what the set-up saw. */
const install =
  'mkdir packages && ls -A > packages/saw && cat deps.lock > packages/lock && echo installed';

test('S-73 the set-up sees the lock file alone, and what it makes is kept under its hash', async () => {
  await using ground = new ProvingGround();
  await ground.start({ tests: installing(install) });
  const test = 'cat packages/saw packages/lock; exit 1';
  const offer = (intento: number, files: Readonly<Record<string, string>>) => {
    ground.place.change('shop', `work-${intento}`, { 'test.sh': test, ...files });
    return ground.order(`work-${intento}`, intento);
  };
  await offer(1, { 'deps.lock': 'one\n' });
  assert.match((await ground.verdict(1)).log, /^installed\ndeps\.lock\npackages\none\n\n\[sh/);
  await offer(2, { 'deps.lock': 'one\n', 'other.txt': 'other' });
  assert.match((await ground.verdict(2)).log, /^deps\.lock\npackages\none\n\n\[sh/);
  await offer(3, { 'deps.lock': 'two\n', 'manifest.txt': 'm' });
  const { log } = await ground.verdict(3);
  assert.match(log, /^installed\ndeps\.lock\nmanifest\.txt\npackages\ntwo\n/);
  assert.equal(readdirSync(ground.place.path('sandbox', 'set-ups')).length, 2);
});

test('S-73 a set-up that fails is a failed test, and is kept by nobody', async () => {
  await using ground = new ProvingGround();
  await ground.start({ tests: installing('echo no such package; exit 7') });
  const { exito, log } = await ground.test('exit 0');
  assert.equal(exito, false);
  assert.match(log, /^no such package\n\n\[set-up: sh -c .* ended with code 7\]\n$/);
  assert.deepEqual(readdirSync(ground.place.path('sandbox', 'set-ups')), []);
});

test('S-73 a lock file that is a link out of the clone shows nothing of the machine', async () => {
  await using ground = new ProvingGround();
  await ground.start({ tests: installing('ls -A; cat deps.lock 2>&1; true') });
  const secret = ground.place.write('secret.txt', 'hush');
  ground.place.change('shop', 'work-1', { 'test.sh': 'exit 1' });
  symlinkSync(secret, ground.place.path('shop-work', 'deps.lock'));
  const work = ground.place.path('shop-work');
  ground.place.commit(work, 'A link');
  ground.place.git(work, 'push', '-q', 'origin', 'work-1');
  await ground.order('work-1', 1);
  const { log } = await ground.verdict();
  assert.doesNotMatch(log, /hush/);
  assert.match(log, /No such file/);
});

test('S-73 what a set-up leaves can’t write over the clone, nor through a link of the clone', async () => {
  await using ground = new ProvingGround();
  await ground.start({
    tests: installing('mkdir out && echo owned > out/file && echo x > test.sh'),
  });
  const outside = ground.place.path('outside');
  ground.place.write('outside/.keep', '');
  ground.place.change('shop', 'work-1', { 'test.sh': 'echo mine; exit 1' });
  symlinkSync(outside, ground.place.path('shop-work', 'out'));
  const work = ground.place.path('shop-work');
  ground.place.commit(work, 'A link');
  ground.place.git(work, 'push', '-q', 'origin', 'work-1');
  await ground.order('work-1', 1);
  const { exito } = await ground.verdict();
  assert.equal(exito, false);
  assert.equal(existsSync(`${outside}/file`), false);
});

test('S-73 a repository has the command and the limits that its longest entry says', async () => {
  await using ground = new ProvingGround();
  const { folder } = ground.place;
  await ground.start({
    tests: { command: ['sh', '-c', 'echo general; exit 1'] },
    repositories: [
      { repository: `${folder}/other`, command: ['sh', '-c', 'echo other; exit 1'] },
      { repository: folder, command: ['sh', '-c', 'echo shorter; exit 1'] },
      {
        repository: ground.repository,
        command: ['sh', '-c', 'echo own; sleep 60'],
        limits: { timeMs: 500 },
      },
      {
        repository: ground.repository.slice(0, -6),
        command: ['sh', '-c', 'echo no segment; exit 1'],
      },
    ],
  });
  const { log } = await ground.test('exit 0');
  assert.match(log, /^own\n\n\[sh -c .* ran out of time\]/);
});
