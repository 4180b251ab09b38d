import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../fixtures/world.ts';

test('C-1 C-3 C-9 a task goes from NUEVA to COMPLETADA by the ten states alone', async () => {
  await using world = await World.start();
  const id = await world.create();
  await world.until(id, 'ESPERANDO_APROBACION_PLAN');
  await world.approve(id);
  await world.until(id, 'COMPLETADA');
  assert.deepEqual(await world.states(id), [
    'NUEVA',
    'PLANIFICANDO',
    'ESPERANDO_APROBACION_PLAN',
    'EJECUTANDO_CODIGO',
    'PROBANDO_INTEGRACION',
    'COMPLETADA',
  ]);
  assert.deepEqual(world.orders(id), [
    'tarea.generar_plan',
    'tarea.aprobar_plan',
    'tarea.probar_integracion',
  ]);
});
