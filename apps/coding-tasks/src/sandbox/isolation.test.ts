import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { ProvingGround } from './fixtures/proving-ground.ts';
import { findTools } from './isolation.ts';

const { bwrap } = findTools('/usr/bin:/usr/local/bin:/bin', 0);
/** Never a reason to skip: walls that nobody has tried are none. */
assert.ok(bwrap !== null, 'these tests need bubblewrap (Debian: apt-get install bubblewrap)');

/** In the tests' shell: fails the test if the command succeeds. */
const never = (command: string, why: string) => `if ${command}; then echo "${why}"; exit 1; fi\n`;

test('behind the walls there is no network, not even the machine’s own', async () => {
  await using ground = new ProvingGround();
  await ground.start();
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const knock = `bash -c '</dev/tcp/127.0.0.1/${port}' 2>/dev/null`;
  try {
    assert.deepEqual(await ground.test(never(knock, 'reached')), {
      ...{ exito: true, log: '', intento: 1 },
    });
    await using open = new ProvingGround();
    await open.start({ tests: { hasNetwork: true } });
    assert.match((await open.test(never(knock, 'reached'))).log, /^reached/);
  } finally {
    server.close();
  }
});

test('behind the walls the system is read-only, and of the machine’s files there are none', async () => {
  await using ground = new ProvingGround();
  await ground.start({
    environment: { ...ground.place.environment, SECRET_TOKEN: 'hush' },
    commandEnvironment: { CI: 'true' },
  });
  const outside = ground.place.write('outside.txt', 'secret');
  const { exito, log } = await ground.test(
    [
      never('touch /usr/owned 2>/dev/null', 'wrote to /usr'),
      never(`cat ${outside} 2>/dev/null`, 'read a file of the machine'),
      never('grep -v sandbox /etc/passwd /etc/group /etc/hosts | grep -v localhost', 'saw others'),
      'getent hosts localhost >/dev/null && test "$(whoami)" = sandbox || exit 3\n',
      never('test -e /root -o -e /home', 'saw the homes'),
      never('env | grep -q SECRET', 'saw a secret'),
      never(`test -d /proc/${process.pid}`, 'saw processes'),
      'test "$CI" = true && test "$(pwd)" = /work || exit 2\n',
      'touch /tmp/mine && touch made-here && test "$(id -u)" != 0\n',
    ].join(''),
  );
  assert.deepEqual([exito, log], [true, '']);
  assert.equal(existsSync('/tmp/mine'), false);
});

test('limits: memory, processes, file size', async () => {
  await using ground = new ProvingGround();
  await ground.start({
    tests: { limits: { memoryBytes: 64 * 1024 ** 2, processes: 40, fileBytes: 1024 ** 2 } },
  });
  const { exito, log } = await ground.test(
    [
      never(`perl -e '$x = "a" x (256*1024*1024)' 2>/dev/null`, 'took the memory'),
      never('head -c 3000000 /dev/zero > big 2>/dev/null', 'wrote the file'),
      never('head -c 3000000 /dev/zero > /tmp/big 2>/dev/null', 'filled its /tmp'),
      'i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done 2>forks\n',
      'if grep -qi fork forks; then exit 0; fi; echo "forked 100 times"; exit 1\n',
    ].join(''),
  );
  // The shell that may not fork gives up with 2: that is the limit at work, too.
  assert.ok(exito || /ended with code 2/.test(log), log);
  assert.doesNotMatch(log, /took|wrote|filled|forked/);
});

test('limits: time and output end the whole run, which then has failed', async () => {
  await using ground = new ProvingGround();
  await ground.start({ tests: { limits: { timeMs: 1_000 } } });
  const slow = await ground.test('echo begun; sleep 600 & sleep 600');
  assert.deepEqual([slow.exito, slow.log], [false, 'begun\n\n[sh test.sh ran out of time]\n']);

  await using loud = new ProvingGround();
  await loud.start({ tests: { limits: { outputBytes: 100_000 } } });
  const { exito, log } = await loud.test('yes');
  assert.equal(exito, false);
  assert.match(log, /wrote more than its limit/);
});

test('without bubblewrap: refused, or with `auto` run as a plain process that says so loudly', async () => {
  await using ground = new ProvingGround();
  // A machine with git and a shell, and no bubblewrap.
  const bin = ground.place.path('bin');
  ground.place.write('bin/.keep', '');
  for (const tool of ['git', 'sh', 'true', 'git-upload-pack', 'env', 'prlimit']) {
    symlinkSync(`/usr/bin/${tool}`, `${bin}/${tool}`);
  }
  const environment = { ...ground.place.environment, PATH: bin };
  await assert.rejects(ground.start({ environment }), /apt-get install bubblewrap/);
  await ground.start({ environment, isolation: 'auto' });
  const { exito, log } = await ground.test('exit 0');
  assert.equal(exito, true);
  assert.match(log, /^\[sandbox\] NOT ISOLATED: /);
});
