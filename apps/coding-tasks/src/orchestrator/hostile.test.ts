/** What a peer gone mad may say on the bus. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from 'capataz';
import { until } from 'capataz/testing';
import { exchangeOf } from '../contract/messages.ts';
import { isTaskState, originators } from '../contract/names.ts';
import { eventNames } from '../contract/payloads.ts';
import { answers, newId, silentServices, taskIn, World } from '../fixtures/world.ts';

const wrongValues: readonly JsonValue[] = [
  ...[null, 7, -1, true, '', 'x', [], {}, [[]], { a: 1 }],
  ...['__proto__', '../../etc/passwd', '\u0000', { toString: 1 }, 1e308],
];
const fields = [
  ...['planId', 'plan', 'sessionId', 'intento', 'uso', 'pullRequestUrl', 'diff', 'exito', 'log'],
  ...['codigo', 'mensaje', 'recuperable', 'usuario', 'hash', 'prompt', 'repositorioOrigen'],
];

test('C-aa C-b C-12 wrong values in every field of every event, from everybody: no task leaves the ten states', async () => {
  await using world = await World.start(silentServices);
  const ids = [
    await taskIn(world, 'PLANIFICANDO'),
    await taskIn(world, 'ESPERANDO_APROBACION_PLAN'),
    await taskIn(world, 'EJECUTANDO_CODIGO'),
    await taskIn(world, 'PROBANDO_INTEGRACION'),
    await taskIn(world, 'FALLIDA_LOGICA'),
  ];
  const origins = [...Object.values(originators), 'mallory'];
  const results = eventNames.filter((name) => name.startsWith('resultado.'));
  let said = 0;
  for (const name of results)
    for (const value of wrongValues) {
      const payload = Object.fromEntries(fields.map((field) => [field, value]));
      const jobId = ids[said % ids.length] ?? newId();
      const originator = origins[said % origins.length] ?? 'mallory';
      said += 1;
      const event = {
        ...{ id: newId(), job: jobId, sequence: 0, correlationId: jobId, time: world.clock.now() },
        ...{ originator, name, payload, trace: null },
      };
      await world.server.bus?.publish(exchangeOf(name), event).catch(() => undefined);
    }
  assert.ok(said > 50);
  for (const id of ids) assert.ok(isTaskState(await world.state(id)));
  const [last = ''] = ids.slice(-1);
  assert.equal(await world.state(last), 'FALLIDA_LOGICA');
  const id = await world.create();
  await world.result(id, answers.plan('still at work'));
  assert.equal(await world.state(id), 'ESPERANDO_APROBACION_PLAN');
});

test('C-14 giant logs and changes are cut off and move the task; a giant plan ends it', async () => {
  await using world = await World.start(silentServices);
  const stands = (id: string, state: string) =>
    until(async () => {
      await world.clock.advance(0);
      return (await world.state(id)) === state;
    });
  const giant = 'x'.repeat(1_200_000);
  const id = await taskIn(world, 'EJECUTANDO_CODIGO');
  const { name, payload } = answers.pullRequest();
  await world.result(id, { name, payload: { ...payload, diff: giant } } as never);
  await stands(id, 'PROBANDO_INTEGRACION');
  await world.result(id, {
    name: 'resultado.integracion_finalizada',
    payload: { exito: false, log: giant },
  });
  await stands(id, 'EJECUTANDO_CODIGO');
  assert.ok((world.model.failures[0]?.log.length ?? 0) <= 1_000_000);
  const other = await taskIn(world, 'PLANIFICANDO');
  await world.result(other, {
    name: 'resultado.plan_generado',
    payload: { planId: 'giant', plan: { texto: giant } },
  });
  await stands(other, 'FALLIDA_LOGICA');
  assert.equal((await world.record(other)).reason?.code, 'plan_too_large');
});

test('C-14 giant words in every other field: the task goes on or ends, and its book can be read', async () => {
  await using world = await World.start(silentServices);
  const giant = 'x'.repeat(6_000_000);
  const ended = await taskIn(world, 'EJECUTANDO_CODIGO');
  await world.result(ended, {
    name: 'resultado.error',
    payload: { codigo: 'agente', mensaje: giant, recuperable: false },
  });
  assert.equal(await world.state(ended), 'FALLIDA_LOGICA');
  const alive = await taskIn(world, 'EJECUTANDO_CODIGO');
  await world.result(alive, {
    name: 'resultado.estado_actualizado',
    payload: { sessionId: 'session-1', estado: giant },
  });
  const unnamed = { sessionId: giant, estado: 'at work' };
  await assert.rejects(
    world.result(alive, { name: 'resultado.estado_actualizado', payload: unnamed }),
    /payload\.sessionId/,
  );
  await world.result(alive, answers.pullRequest());
  assert.equal(await world.state(alive), 'PROBANDO_INTEGRACION');
});
