import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../performer/fixtures/place.ts';
import { findStrays, ownerVariable } from '../performer/strays.ts';
import { rightSum, Smithy, sumScript, wrongSum } from './fixtures/smithy.ts';

const ownBranch = 'capataz/task-1';
const branch = `${ownBranch}/1`;
const corrected = `${ownBranch}/2`;

test('S-75 plan, code and correction: real commits on a branch a round, with session, attempt and usage', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  await smithy.start(sumScript);
  const { payload: planned } = await smithy.planned();
  assert.equal(planned.plan.texto, '# Plan\n\nWrite sum.js.');
  assert.deepEqual(smithy.branches(), ['main']);

  await desk.order('tarea.aprobar_plan', {
    planId: planned.planId,
    plan: planned.plan,
    intento: 2,
  });
  const { payload: first } = await desk.next('resultado.pr_generada');
  assert.equal(first.pullRequestUrl, `${smithy.repository}#${branch}`);
  assert.equal(smithy.fileOn(branch, 'sum.js'), wrongSum.trim());
  assert.match(first.diff ?? '', /\+export const sum/);
  assert.deepEqual(first.uso, { costeUsd: 0.25, tokensEntrada: 100, tokensSalida: 20 });

  await desk.order('tarea.enviar_feedback', {
    sessionId: String(first.sessionId),
    promptCorreccion: 'It subtracts.',
    intento: 4,
  });
  const { payload: second } = await desk.next(
    'resultado.pr_generada',
    ({ payload }) => payload.intento === 4,
  );
  assert.equal(second.pullRequestUrl, `${smithy.repository}#${corrected}`);
  assert.equal(smithy.fileOn(corrected, 'sum.js'), rightSum.trim());
  assert.equal(smithy.fileOn(branch, 'sum.js'), wrongSum.trim());
  assert.equal(second.sessionId, planned.sessionId);
  assert.deepEqual(smithy.worktrees(), []);
});

test('C-m C-cc: the session is known from the first status on, and every answer names its attempt', async () => {
  await using smithy = new Smithy();
  await smithy.start(sumScript);
  const { payload } = await smithy.planned();
  const [status] = smithy.desk.all('resultado.estado_actualizado');
  assert.ok(status !== undefined && status.payload.sessionId !== '');
  assert.equal(status.payload.sessionId, payload.sessionId);
  assert.equal(status.payload.intento, 1);
  assert.equal(payload.intento, 1);
});

test('C-21: a poll is answered at once while the agent works, and by nobody who has not the task', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  await smithy.start({ ...sumScript, plan: [{ say: 'thinking hard' }, { hang: 'gentle' }] });
  await desk.order('tarea.generar_plan', {
    prompt: 'Add a sum',
    repositorioOrigen: smithy.repository,
    intento: 1,
  });
  await desk.next('resultado.estado_actualizado');
  // The agent's own words appear in the answer to a poll, as soon as it has said them.
  let polls = 0;
  const hears = () =>
    desk.all('resultado.estado_actualizado').some(({ payload }) => /hanging/.test(payload.estado));
  while (!hears()) {
    const before = desk.all('resultado.estado_actualizado').length;
    await desk.order('tarea.consultar_estado', { sessionId: '', intento: 1 });
    polls += 1;
    await until(() => desk.all('resultado.estado_actualizado').length > before);
  }
  assert.ok(polls > 0);

  const known = desk.heard.length;
  await desk.order('tarea.consultar_estado', { sessionId: 'other' }, { taskId: 'unknown' });
  await desk.order('tarea.consultar_estado', { sessionId: '', destinatario: 'sandbox-service' });
  await desk.order('tarea.consultar_estado', { sessionId: '' });
  await until(() => desk.heard.length > known);
  assert.deepEqual(
    desk.heard.slice(known).map(({ taskId }) => taskId),
    ['task-1'],
  );
});

test('C-l: an approval by the gateway is the orchestrator’s affair', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  await smithy.start(sumScript);
  const { payload } = await smithy.planned();
  const order = { planId: payload.planId, intento: 2 };
  await desk.order('tarea.aprobar_plan', order, { originator: 'gateway-service' });
  await smithy.planned('task-2');
  assert.deepEqual(desk.all('resultado.pr_generada'), []);
  assert.deepEqual(smithy.branches(), ['main']);
});

test('B-037: what the agent does while it plans is thrown away', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  const eager = { write: { path: 'eager.js', text: 'too early' } };
  await smithy.start({ ...sumScript, plan: [eager, { commit: 'Too early' }, { answer: 'Plan' }] });
  const { payload } = await smithy.planned();
  assert.deepEqual(smithy.branches(), ['main']);
  await desk.order('tarea.aprobar_plan', { planId: payload.planId, intento: 2 });
  await desk.next('resultado.pr_generada');
  const files = smithy.place.git(smithy.repository, 'ls-tree', '--name-only', branch);
  assert.deepEqual(files.split('\n'), ['README.md', 'sum.js']);
});

test('B-037: an approval of another plan, or of another text under its id, carries nothing out', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  await smithy.start(sumScript);
  const { payload: first } = await smithy.planned();
  await desk.order('tarea.generar_plan', {
    prompt: 'Add a sum',
    comentario: 'Too short.',
    planRechazado: first.planId,
    intento: 2,
  });
  const { payload: second } = await desk.next(
    'resultado.plan_generado',
    (message) => message.payload.intento === 2,
  );
  await desk.order('tarea.aprobar_plan', { planId: first.planId, intento: 3 });
  const other = await desk.next('resultado.error', ({ payload }) => payload.intento === 3);
  assert.deepEqual([other.payload.codigo, other.payload.recuperable], ['plan_desconocido', false]);
  const plan = { ...second.plan, texto: 'Delete everything.' };
  await desk.order('tarea.aprobar_plan', { planId: second.planId, plan, intento: 4 });
  const forged = await desk.next('resultado.error', ({ payload }) => payload.intento === 4);
  assert.equal(forged.payload.codigo, 'plan_distinto');
  assert.deepEqual(smithy.branches(), ['main']);
});

test('B-036: the same approval again is carried out once and answered as before', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  await smithy.start(sumScript);
  const { payload } = await smithy.planned();
  const order = { planId: payload.planId, intento: 2 };
  await desk.order('tarea.aprobar_plan', order);
  await desk.order('tarea.aprobar_plan', order);
  const first = await desk.next('resultado.pr_generada');
  const tip = smithy.place.git(smithy.repository, 'rev-parse', branch);
  await desk.order('tarea.aprobar_plan', order);
  await until(() => desk.all('resultado.pr_generada').length > 1);
  assert.deepEqual(
    desk.all('resultado.pr_generada').map(({ traceId }) => traceId),
    [first.traceId, first.traceId],
  );
  assert.equal(smithy.place.git(smithy.repository, 'rev-parse', branch), tip);
});

test('B-039: an order of an attempt that was replaced starts no further round', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  await smithy.start(sumScript);
  const { payload } = await smithy.planned();
  await desk.order('tarea.aprobar_plan', { planId: payload.planId, intento: 2 });
  await desk.next('resultado.pr_generada');
  const feedback = { sessionId: '', promptCorreccion: 'It subtracts.' };
  await desk.order('tarea.enviar_feedback', { ...feedback, intento: 4 });
  await desk.next('resultado.pr_generada', (message) => message.payload.intento === 4);
  await desk.order('tarea.enviar_feedback', { ...feedback, intento: 3 });
  await smithy.planned('task-2');
  const attempts = desk.all('resultado.pr_generada').map(({ payload }) => payload.intento);
  assert.deepEqual(attempts, [2, 4]);
});

test('C-r: an agent that gives up, and one that breaks, end in resultado.error', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  await smithy.start({ plan: [{ fail: 'no such file' }], code: [], corrections: [] });
  const order = { prompt: 'Add a sum', repositorioOrigen: smithy.repository, intento: 1 };
  await desk.order('tarea.generar_plan', order, { taskId: 'gives-up' });
  const { payload: gaveUp } = await desk.next('resultado.error');
  assert.deepEqual([gaveUp.codigo, gaveUp.recuperable, gaveUp.intento], ['agente', false, 1]);
  assert.match(gaveUp.mensaje, /no such file/);

  const nowhere = smithy.place.path('nowhere.git');
  await desk.order(
    'tarea.generar_plan',
    { ...order, repositorioOrigen: nowhere },
    { taskId: 'nowhere' },
  );
  const { payload: lost } = await desk.next(
    'resultado.error',
    ({ taskId }) => taskId === 'nowhere',
  );
  assert.deepEqual([lost.codigo, lost.recuperable], ['git', true]);
  assert.deepEqual(smithy.worktrees(), []);
});

test('a change that changes nothing is no pull request', async () => {
  await using smithy = new Smithy();
  await smithy.start({ plan: [{ answer: 'Plan' }], code: [{ answer: 'Done.' }], corrections: [] });
  const { payload } = await smithy.planned();
  await smithy.desk.order('tarea.aprobar_plan', { planId: payload.planId, intento: 2 });
  const error = await smithy.desk.next('resultado.error');
  assert.deepEqual([error.payload.codigo, error.payload.recuperable], ['sin_cambios', false]);
});

test('repositories that run commands, and those that are not allowed, are refused', async () => {
  await using smithy = new Smithy();
  const { desk, place } = smithy;
  await smithy.start(sumScript, { allowedRepositories: [place.path('shop.git')] });
  const evil = [
    'ext::sh -c touch% /tmp/owned',
    '--upload-pack=touch',
    `${place.path('shop.git')}-evil`,
  ];
  for (const [at, repositorioOrigen] of evil.entries()) {
    const taskId = `evil-${at}`;
    await desk.order('tarea.generar_plan', { prompt: 'x', repositorioOrigen }, { taskId });
    const { payload } = await desk.next('resultado.error', (message) => message.taskId === taskId);
    assert.deepEqual([payload.codigo, payload.recuperable], ['repositorio', false]);
  }
  await smithy.planned();
});

test('tarea.cancelar kills the agent, also one that does not mind SIGTERM, and leaves no worktree', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  await smithy.start({ ...sumScript, plan: [{ hang: 'stubborn' }] }, { progressMs: 20 });
  await desk.order('tarea.generar_plan', {
    prompt: 'Add a sum',
    repositorioOrigen: smithy.repository,
  });
  await desk.next('resultado.estado_actualizado', ({ payload }) => /hanging/.test(payload.estado));
  assert.equal(smithy.worktrees().length, 1);
  await desk.order('tarea.cancelar', {});
  await until(() => smithy.worktrees().length === 0);
  await until(() => findStrays(ownerVariable, smithy.place.path('smith')).length === 0);
  assert.deepEqual(desk.all('resultado.error'), []);
});

test('a smith that lost its folder goes on from what the orders say', async () => {
  await using smithy = new Smithy();
  const { desk } = smithy;
  const first = await smithy.start(sumScript);
  const known = { repositorioOrigen: smithy.repository, sessionId: 's-1' };
  const plan = { texto: 'Plan' };
  await desk.order('tarea.aprobar_plan', {
    ...{ ...known, planId: 'plan-1', plan, prompt: 'Add a sum', intento: 2 },
  });
  const { payload } = await desk.next('resultado.pr_generada');
  assert.equal(payload.sessionId, 's-1');
  assert.equal(smithy.fileOn(branch, 'sum.js'), wrongSum.trim());
  await first.stop();

  await smithy.start(sumScript, { folder: smithy.place.path('fresh') });
  const { pullRequestUrl } = payload;
  const feedback = { promptCorreccion: 'It subtracts.', pullRequestUrl, intento: 4, ronda: 2 };
  await desk.order('tarea.enviar_feedback', { ...known, ...feedback });
  await desk.next('resultado.pr_generada', (message) => message.payload.intento === 4);
  assert.equal(smithy.fileOn(corrected, 'sum.js'), rightSum.trim());

  await desk.order(
    'tarea.enviar_feedback',
    { ...known, promptCorreccion: 'x' },
    { taskId: 'lost' },
  );
  const error = await desk.next('resultado.error');
  assert.deepEqual([error.payload.codigo, error.payload.recuperable], ['tarea_desconocida', true]);
});

test('one folder, one smith', async () => {
  await using smithy = new Smithy();
  await smithy.start(sumScript);
  await assert.rejects(smithy.start(sumScript), /another process works with this folder/);
});

test('large files: Git LFS (a fake) hands them in before the branch, for a hook of its would not run', async () => {
  await using smithy = new Smithy();
  const { place, desk } = smithy;
  const calls = place.path('lfs.txt');
  chmodSync(place.write('bin/git-lfs', `#!/bin/sh\necho "$@" >> ${calls}\n`), 0o755);
  const PATH = `${place.path('bin')}:${place.environment.PATH}`;
  const code = [
    { write: { path: 'art/.gitattributes', text: '*.bin filter=lfs\n' } },
    { answer: 'Added.' },
  ];
  const environment = { ...place.environment, PATH };
  await smithy.start({ ...sumScript, code }, { environment });
  const { payload } = await smithy.planned();
  assert.equal(existsSync(calls), false);
  await desk.order('tarea.aprobar_plan', { planId: payload.planId, intento: 2 });
  await desk.next('resultado.pr_generada');
  assert.equal(readFileSync(calls, 'utf8'), `version\npush origin ${ownBranch}\n`);
});

test('a plan is carried out on the commit it was made on, also where the copy has lost that meanwhile', async () => {
  await using smithy = new Smithy();
  const { desk, place } = smithy;
  await smithy.start(sumScript);
  const { payload } = await smithy.planned();
  place.change('shop', 'main', { 'later.txt': 'later' });
  rmSync(place.path('smith', 'repositories'), { recursive: true });
  mkdirSync(place.path('smith', 'repositories'));
  await desk.order('tarea.aprobar_plan', { planId: payload.planId, intento: 2 });
  await desk.next('resultado.pr_generada');
  assert.equal(place.git(smithy.repository, 'merge-base', 'main', branch), payload.plan.base);
});
