import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMessage } from '../contract/messages.ts';
import { exchanges } from '../contract/names.ts';
import { until } from '../performer/fixtures/place.ts';
import { findStrays, ownerVariable } from '../performer/strays.ts';
import { ProvingGround } from './fixtures/proving-ground.ts';

test('C-aa: a merged request whose tests pass is exito true, one whose tests fail is exito false', async () => {
  await using ground = new ProvingGround();
  await ground.start();
  await ground.offer('test -f README.md || exit 3');
  assert.deepEqual(await ground.verdict(), {
    exito: false,
    log: '\n[sh test.sh ended with code 3]\n',
    intento: 1,
  });
  ground.place.change('shop', 'main', { 'README.md': '# Shop\n' });
  await ground.order('work-1', 3);
  assert.equal((await ground.verdict(3)).exito, true);
  assert.deepEqual(readdirSync(ground.place.path('sandbox', 'runs')), []);
});

test('a merge conflict is a failed test, with the conflict as its log', async () => {
  await using ground = new ProvingGround();
  await ground.start();
  await ground.offer('echo mine');
  await ground.verdict();
  ground.place.change('shop', 'main', { 'test.sh': 'echo theirs\n' });
  await ground.order('work-1', 2);
  const { exito, log } = await ground.verdict(2);
  assert.equal(exito, false);
  assert.match(log, /CONFLICT.*echo theirs.*echo mine/s);
});

test('ramaDestino is the branch that is merged into', async () => {
  await using ground = new ProvingGround();
  await ground.start();
  ground.place.change('shop', 'release', { 'release.txt': '1' });
  await ground.offer('test -f release.txt', { extras: { ramaDestino: 'release' } });
  assert.equal((await ground.verdict()).exito, true);
});

test('C-v: a poll is answered at once while tests run, with what they print', async () => {
  await using ground = new ProvingGround();
  const { desk } = ground;
  await ground.start();
  await ground.offer('echo step one; sleep 60');
  await desk.next('resultado.estado_actualizado');
  const statuses = () => desk.all('resultado.estado_actualizado');
  while (!statuses().some(({ payload }) => /step one/.test(payload.estado))) {
    const before = statuses().length;
    await desk.order('tarea.consultar_estado', { sessionId: '', destinatario: 'sandbox-service' });
    await until(() => statuses().length > before);
  }
  // The session is the smith's, and nobody shall learn another one from here.
  assert.ok(statuses().every(({ payload }) => payload.sessionId === '' && payload.intento === 1));
  await desk.order('tarea.cancelar', {});
  await until(() => readdirSync(ground.place.path('sandbox', 'runs')).length === 0);
  await until(() => findStrays(ownerVariable, ground.place.path('sandbox')).length === 0);
  assert.deepEqual(desk.all('resultado.integracion_finalizada'), []);
});

test('an order repeated while its test runs, and after it, tests once', async () => {
  await using ground = new ProvingGround();
  await ground.start({ isolation: 'plain' });
  const runs = ground.place.path('runs.txt');
  await ground.offer(`echo run >> ${runs}; sleep 0.2`);
  await ground.order('work-1', 1);
  await ground.verdict();
  await ground.order('work-1', 1);
  await until(() => ground.desk.all('resultado.integracion_finalizada').length > 1);
  assert.equal(readFileSync(runs, 'utf8'), 'run\n');
});

test('C-r: what is no pull request is an error for good, an unreachable repository one of the machinery', async () => {
  await using ground = new ProvingGround();
  const { desk } = ground;
  await ground.start();
  const order = (pullRequestUrl: string, taskId: string) =>
    desk.order('tarea.probar_integracion', { pullRequestUrl }, { taskId });
  const errorOf = async (task: string) => {
    const { payload } = await desk.next('resultado.error', ({ taskId }) => taskId === task);
    return [payload.codigo, payload.recuperable];
  };
  await order('nonsense', 'nonsense');
  assert.deepEqual(await errorOf('nonsense'), ['repositorio', false]);
  await order(`${ground.repository}#--upload-pack=x`, 'option');
  assert.deepEqual(await errorOf('option'), ['repositorio', false]);
  await order(`${ground.place.path('nowhere.git')}#work`, 'nowhere');
  assert.deepEqual(await errorOf('nowhere'), ['git', true]);
});

test('a long log: its beginning and end in the result, the whole in a file', async () => {
  await using ground = new ProvingGround();
  await ground.start();
  const { log } = await ground.test('echo first; seq 1 20000; echo last; exit 1');
  assert.ok(log.length < 20_000);
  assert.match(log, /^first\n/);
  assert.match(log, /last\n\n\[sh test\.sh ended with code 1\]\n$/);
  const path = /the whole log: (\S+)/.exec(log)?.[1] ?? '';
  assert.match(readFileSync(path, 'utf8'), /\n10000\n/);
});

test('the clone knows its origin, where Git LFS asks for files while it is checked out', async () => {
  await using ground = new ProvingGround();
  await ground.start({ isolation: 'plain' });
  const { exito, log } = await ground.test('git remote get-url origin');
  assert.equal(exito, true);
  assert.ok(log.includes(ground.repository), log);
});

test('the origin keeps its owner: the clone is a copy', async () => {
  await using ground = new ProvingGround();
  await ground.start();
  await ground.test('find . -name nothing');
  const objects = join(ground.repository, 'objects');
  const owner = statSync(ground.repository).uid;
  for (const name of readdirSync(objects, { recursive: true, encoding: 'utf8' })) {
    assert.equal(statSync(join(objects, name)).uid, owner);
  }
  assert.ok(existsSync(objects));
});

test('S-72 what tests print goes to topico.logs while they run, and no more than people can read', async () => {
  await using ground = new ProvingGround();
  const { desk } = ground;
  const lines: string[] = [];
  await desk.bus.subscribe(
    { durable: 'collector', exchange: exchanges.logs, patterns: ['log.#'] },
    ({ event, ack }) => {
      const read = readMessage(event);
      assert.ok(read.ok && read.message.name === 'log.info');
      assert.equal(read.message.originator, 'sandbox-service');
      lines.push(read.message.payload.mensaje);
      ack();
    },
  );
  await ground.start();
  await ground.offer('echo begun; sleep 60');
  await until(() => lines.some((line) => line === 'begun'));
  await ground.offer('seq 1 100000; exit 1', { intento: 3 });
  await ground.verdict(3);
  await until(() => /characters left out/.test(lines.join('')));
  assert.ok(lines.join('').length < 100_000);
});

test('a log that finds no room costs the file, not the verdict', async () => {
  await using ground = new ProvingGround();
  await ground.start({ isolation: 'plain' });
  symlinkSync('/dev/full', ground.place.path('sandbox', 'logs', 'task-1-1.log'));
  const { exito, log } = await ground.test('yes | head -c 100000; echo the end');
  assert.equal(exito, true);
  assert.match(log, /left out, ENOSPC.*the end/s);
});

test('a merge that git itself gives up is no failed test; one of unrelated histories is', async () => {
  await using ground = new ProvingGround();
  const { place, desk } = ground;
  await ground.start({
    isolation: 'plain',
    // The merge would not end with a commit, were it possible.
    environment: { ...place.environment, GIT_AUTHOR_DATE: 'no date' },
  });
  const work = place.path('shop-work');
  place.git(work, 'checkout', '-q', '--orphan', 'work-1');
  place.commit(work, 'Another beginning');
  place.git(work, 'push', '-q', 'origin', 'work-1');
  await ground.order('work-1', 1);
  assert.match((await ground.verdict(1)).log, /unrelated histories/);
  place.change('shop', 'work-2', { 'more.txt': 'more' });
  await ground.order('work-2', 2);
  const { payload } = await desk.next('resultado.error');
  assert.equal(payload.codigo, 'git');
});
