import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { KillableService } from '../performer/fixtures/killable-service.ts';
import { Place, until } from '../performer/fixtures/place.ts';
import { findStrays, ownerVariable } from '../performer/strays.ts';
import { sumScript } from './fixtures/smithy.ts';

const module = new URL('./fixtures/killable-smith.ts', import.meta.url);

test('after kill -9 the agent and its worktree are cleared away, and the work is begun anew once', async () => {
  using place = new Place();
  const folder = place.path('smith');
  const repository = place.repository('shop', { 'README.md': '# Shop\n' });
  place.write('script.json', JSON.stringify({ ...sumScript, plan: [{ hang: 'stubborn' }] }));
  const order = { prompt: 'Add a sum', repositorioOrigen: repository, intento: 1 };
  const extras = { traceId: 'order-1' };

  const first = new KillableService(module, folder, place.environment);
  first.order('tarea.generar_plan', order, extras);
  await until(() => first.heard.some((message) => /hanging/.test(JSON.stringify(message))));
  await first.kill();
  const [stray] = findStrays(ownerVariable, folder);
  assert.ok(stray !== undefined, 'the agent has outlived its service');
  assert.equal(readdirSync(place.path('smith', 'worktrees')).length, 1);

  place.write('script.json', JSON.stringify(sumScript));
  const second = new KillableService(module, folder, place.environment);
  // Nobody had acknowledged it, for all the bus knows: it is handed out again.
  second.order('tarea.generar_plan', order, extras);
  await until(() => second.heard.some(({ name }) => name === 'resultado.plan_generado'));
  assert.ok(!findStrays(ownerVariable, folder).includes(stray));
  const [session, again] = [first, second].map(({ heard }) =>
    heard.find(({ name }) => name === 'resultado.estado_actualizado'),
  );
  assert.ok(session !== undefined && again !== undefined);
  const sessionOf = ({ payload }: typeof session) => 'sessionId' in payload && payload.sessionId;
  assert.equal(sessionOf(again), sessionOf(session));
  assert.match(JSON.stringify(second.heard[0]), /again after an interruption/);
  await until(() => readdirSync(place.path('smith', 'worktrees')).length === 0);
  const plans = new Set(
    second.heard.filter(({ name }) => name === 'resultado.plan_generado').map((m) => m.traceId),
  );
  assert.equal(plans.size, 1);
  await second.kill();
  assert.ok(existsSync(repository));
  assert.deepEqual(findStrays(ownerVariable, folder), []);
});

test('who asks after a crash is given the stored answer again, under the id that it had', async () => {
  using place = new Place();
  const folder = place.path('smith');
  const repository = place.repository('shop', { 'README.md': '# Shop\n' });
  place.write('script.json', JSON.stringify(sumScript));
  const first = new KillableService(module, folder, place.environment);
  first.order('tarea.generar_plan', {
    prompt: 'Add a sum',
    repositorioOrigen: repository,
    intento: 1,
  });
  await until(() => first.heard.some(({ name }) => name === 'resultado.plan_generado'));
  await first.kill();
  const second = new KillableService(module, folder, place.environment);
  second.order('tarea.consultar_estado', { sessionId: '', intento: 1 });
  await until(() => second.heard.length > 0);
  await second.kill();
  const planOf = ({ heard }: KillableService) =>
    heard.find(({ name }) => name === 'resultado.plan_generado');
  assert.equal(planOf(second)?.traceId, planOf(first)?.traceId);
});
