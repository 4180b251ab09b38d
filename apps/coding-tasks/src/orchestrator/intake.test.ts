import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BusError } from 'capataz/bus';
import {
  answers,
  newId,
  newTask,
  ScriptedModel,
  second,
  silentServices,
  taskIn,
  World,
} from '../fixtures/world.ts';

/** Dead letters in process are told to whoever publishes: the outbox has them, or the sender. */
const isGivenUp = (reason: RegExp) => (error: unknown) => {
  assert.ok(error instanceof BusError);
  assert.equal(error.code, 'given_up');
  assert.match(error.message, reason);
  return true;
};

test('C-c an event that comes twice under one traceId counts once, also after a restart', async () => {
  const first = await World.start(silentServices);
  await using _folder = first;
  const id = await taskIn(first, 'PLANIFICANDO');
  await first.advance(4 * 60 * second);
  const heartbeat = answers.heartbeat();
  const traceId = await first.result(id, heartbeat);
  await first.advance(60 * second);
  await first.result(id, heartbeat, traceId);
  await first.quiet();
  await first.stop();
  await using again = await World.start({ ...silentServices, previous: first });
  // The subscriber has forgotten it, the store has not.
  await again.result(id, heartbeat, traceId);
  const taken = (await again.book(id)).filter(({ type }) => type === 'signal_taken');
  assert.equal(taken.length, 1);
  // Nor has it begun the silence anew: five minutes after the first copy the task fails.
  const { deadlines } = await again.client.jobs.why(id);
  const silence = deadlines.find(({ name }) => name === 'silence');
  assert.equal(Date.parse(silence?.at ?? ''), Date.UTC(2026, 0, 1, 0, 9));
});

test('C-c services that say everything twice bring a task to the same end', async () => {
  await using world = await World.start({ smith: { copies: 3 }, sandbox: { copies: 3 } });
  const id = await world.create({ reglas: { requiereAprobacionPlan: false } });
  await world.until(id, 'COMPLETADA', { stepMs: 5 * second });
  await world.quiet();
  assert.equal(world.of(id, 'tarea.probar_integracion').length, 1);
  const taken = (await world.book(id)).filter(({ reason }) => reason === 'resultado.pr_generada');
  assert.equal(taken.length, 1);
  assert.ok(world.bus.health().published > world.heard.length);
});

test('C-d a result that comes before its order could be answered is ignored, not parked', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PLANIFICANDO');
  await world.result(id, answers.pullRequest());
  assert.equal(await world.state(id), 'PLANIFICANDO');
  await world.result(id, answers.plan());
  await world.approve(id);
  await world.quiet();
  assert.equal(await world.state(id), 'EJECUTANDO_CODIGO');
});

test('C-e what is said of an unknown task is a dead letter; the same task twice is one, another under its id is refused', async () => {
  await using world = await World.start(silentServices);
  const nobody = newId();
  await assert.rejects(world.result(nobody, answers.heartbeat()), isGivenUp(/there is no task/));
  await assert.rejects(world.approve(nobody), isGivenUp(/there is no task/));
  const id = await taskIn(world, 'PLANIFICANDO');
  await world.say(id, 'tarea.crear', newTask);
  const other = world.say(id, 'tarea.crear', { ...newTask, prompt: 'something else' });
  await assert.rejects(other, isGivenUp(/can’t be created/));
  await world.quiet();
  assert.equal(world.of(id, 'tarea.generar_plan').length, 1);
  const answered = world.of(id, 'tarea.accion_atendida').map(({ payload }) => payload.aceptada);
  assert.deepEqual(answered, [true, true, false]);
});

test('C-l S-73 only the gateway speaks for users', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  const forged = world.say(
    id,
    'tarea.aprobar_plan',
    { planId: 'plan-1' },
    { from: 'sandbox-service' },
  );
  await assert.rejects(forged, isGivenUp(/comes from sandbox-service, not from the gateway/));
  assert.equal(await world.state(id), 'ESPERANDO_APROBACION_PLAN');
});

test('C-aa what is malformed becomes a dead letter that names its field, and changes nothing', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PROBANDO_INTEGRACION');
  const event = {
    ...{ id: newId(), job: id, correlationId: id, sequence: 0, time: 1, trace: null },
    ...{ originator: 'sandbox-service', name: 'resultado.integracion_finalizada' },
  };
  for (const exito of ['true', 1, null]) {
    const id = newId();
    const said = world.bus.publish('topico.resultados', {
      ...event,
      id,
      payload: { exito, log: '' },
    });
    await assert.rejects(said, isGivenUp(/payload\.exito/));
  }
  assert.equal(await world.state(id), 'PROBANDO_INTEGRACION');
});

test('C-k each service takes its own copy of what it needs: none takes from another', async () => {
  await using world = await World.start();
  const id = await world.create({ reglas: { requiereAprobacionPlan: false } });
  await world.until(id, 'COMPLETADA', { stepMs: 5 * second });
  assert.deepEqual(
    world.smith.orders.map(({ name }) => name),
    ['tarea.generar_plan', 'tarea.aprobar_plan'],
  );
  assert.deepEqual(
    world.sandbox.orders.map(({ name }) => name),
    ['tarea.probar_integracion'],
  );
});

test('S-71 B-037 a newer plan replaces the one that is shown; approving the old one is refused, and the order has exactly the approved one', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  await world.result(id, {
    name: 'resultado.plan_generado',
    payload: { planId: 'plan-2', plan: { pasos: ['scrape', 'paint'] }, intento: 1 },
  });
  await world.approve(id, 'plan-1');
  assert.equal(await world.state(id), 'ESPERANDO_APROBACION_PLAN');
  await world.quiet();
  assert.partialDeepStrictEqual(world.of(id, 'tarea.accion_atendida').at(-1)?.payload, {
    aceptada: false,
    motivo: 'plan_outdated',
  });
  assert.deepEqual(world.orders(id), ['tarea.generar_plan']);
  await world.approve(id, 'plan-2');
  await world.quiet();
  assert.partialDeepStrictEqual(world.of(id, 'tarea.aprobar_plan').at(-1), {
    originator: 'orchestrator-service',
    payload: { planId: 'plan-2', plan: { pasos: ['scrape', 'paint'] } },
  });
});

test('C-p B-037 a hash that is not the plan’s is refused; a change while the plan waits is ignored and logged', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  const usuario = newTask.usuario;
  await world.say(id, 'tarea.aprobar_plan', { planId: 'plan-1', hash: 'another', usuario });
  await world.result(id, answers.pullRequest());
  assert.equal(await world.state(id), 'ESPERANDO_APROBACION_PLAN');
  const refused = (await world.book(id)).filter(({ type }) => type === 'signal_refused');
  assert.deepEqual(
    refused.map(({ reason }) => reason),
    ['row_refused', 'signal_not_expected'],
  );
  assert.deepEqual(world.orders(id), ['tarea.generar_plan']);
  await world.say(id, 'tarea.aprobar_plan', { planId: 'plan-1', usuario: 'eve' });
  assert.equal(await world.state(id), 'ESPERANDO_APROBACION_PLAN');
  const { plan } = await world.record(id);
  await world.say(id, 'tarea.aprobar_plan', { planId: 'plan-1', hash: plan?.hash, usuario });
  assert.equal(await world.state(id), 'EJECUTANDO_CODIGO');
});

test('S-76 a reviewer approves for the owner', async () => {
  await using world = await World.start({ ...silentServices, settings: { reviewers: 'bob, eve' } });
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  await world.say(id, 'tarea.aprobar_plan', { planId: 'plan-1', usuario: 'eve' });
  assert.equal(await world.state(id), 'EJECUTANDO_CODIGO');
  assert.deepEqual((await world.record(id)).approval, { planId: 'plan-1', by: 'eve' });
});

test('B-036 approving again is done already, also by another event; rejecting after that is refused', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  await world.approve(id);
  await world.approve(id);
  await world.say(id, 'tarea.rechazar_plan', { planId: 'plan-1', usuario: newTask.usuario });
  await world.quiet();
  assert.equal(await world.state(id), 'EJECUTANDO_CODIGO');
  const outcomes = world.of(id, 'tarea.accion_atendida').map(({ payload }) => payload);
  assert.deepEqual(
    outcomes.slice(1).map(({ aceptada, motivo }) => [aceptada, motivo]),
    [
      [true, null],
      [true, 'already_approved'],
      [false, 'unexpected'],
    ],
  );
  assert.equal(world.smith.orders.filter(({ name }) => name === 'tarea.aprobar_plan').length, 1);
});

test('B-039 rounds and costs are counted through heartbeats, detours and two restarts', async () => {
  const usage = { costeUsd: 0.5, tokensEntrada: 1, tokensSalida: 1 };
  const model = new ScriptedModel(async () => ({ text: 'once more', usage }));
  let world = await World.start({ ...silentServices, model });
  await using _folder = world;
  const id = await taskIn(world, 'EJECUTANDO_CODIGO');
  for (let round = 1; round <= 4; round += 1) {
    await world.result(id, answers.heartbeat());
    // A detour: what belongs nowhere.
    await world.result(id, answers.plan('plan-7'));
    await world.advance(2 * 60 * second);
    await world.result(id, answers.pullRequest(round));
    await world.result(id, answers.heartbeat());
    await world.result(id, answers.verdict(false));
    if (round === 4) break;
    await world.reaches(id, 'EJECUTANDO_CODIGO');
    if (round > 2) continue;
    await world.stop();
    world = await World.start({ ...silentServices, previous: world });
  }
  const task = await world.record(id);
  const state = await world.state(id);
  await world.stop();
  assert.equal(state, 'FALLIDA_LOGICA');
  assert.deepEqual([task.round, task.costUsd, model.failures.length], [4, 1.5, 3]);
  assert.equal(task.reason?.code, 'feedback_rounds_spent');
});
