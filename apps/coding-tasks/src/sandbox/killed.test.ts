import assert from 'node:assert/strict';
import { chmodSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { KillableService } from '../performer/fixtures/killable-service.ts';
import { Place, until } from '../performer/fixtures/place.ts';
import { findStrays, ownerVariable } from '../performer/strays.ts';

const module = new URL('./fixtures/killable-sandbox.ts', import.meta.url);

test('after kill -9 the test and its clone are gone, and it is tested anew, once', async () => {
  using place = new Place();
  chmodSync(place.folder, 0o711);
  const repository = place.repository('shop', { 'test.sh': 'echo waiting; sleep 600\n' });
  place.change('shop', 'work', { 'made.txt': 'made' });
  const folder = place.path('sandbox');
  const order = { pullRequestUrl: `${repository}#work`, intento: 3 };
  const extras = { traceId: 'order-1' };

  const first = new KillableService(module, folder, place.environment);
  first.order('tarea.probar_integracion', order, extras);
  await until(() => first.heard.some((message) => /waiting$/.test(statusOf(message.payload))));
  await first.kill();
  // The walls fall with the service, and with them all that was behind.
  await until(() => findStrays(ownerVariable, folder).length === 0);

  place.change('shop', 'main', { 'test.sh': 'test -f made.txt\n' });
  const second = new KillableService(module, folder, place.environment);
  second.order('tarea.probar_integracion', order, extras);
  const verdicts = () =>
    second.heard.filter(({ name }) => name === 'resultado.integracion_finalizada');
  await until(() => verdicts().length > 0);
  assert.deepEqual(verdicts()[0]?.payload, { exito: true, log: '', intento: 3 });
  await until(() => readdirSync(place.path('sandbox', 'runs')).length === 0);
  assert.equal(new Set(verdicts().map(({ traceId }) => traceId)).size, 1);
  await second.kill();
});

function statusOf(payload: object): string {
  return 'estado' in payload ? String(payload.estado) : '';
}
