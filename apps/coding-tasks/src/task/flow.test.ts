import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from 'capataz/testing';
import { payloads } from '../contract/payloads.ts';
import {
  answers,
  minute,
  newId,
  newTask,
  ScriptedModel,
  second,
  silentServices,
  taskIn,
  World,
} from '../fixtures/world.ts';

test('C-1 C-3 C-9 C-26 a task goes from NUEVA to COMPLETADA, and nothing is delegated after that', async () => {
  await using world = await World.start();
  const id = await world.create();
  await world.until(id, 'ESPERANDO_APROBACION_PLAN');
  await world.approve(id);
  await world.until(id, 'COMPLETADA');
  await world.quiet();
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
  const told = world.of(id, 'tarea.estado_cambiado').map(({ payload }) => payload.estado);
  assert.equal(told.at(-1), 'COMPLETADA');
});

test('C-2 without an event and with no timer due the state stays', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PLANIFICANDO');
  const before = await world.book(id);
  await world.advance(minute);
  assert.equal(await world.state(id), 'PLANIFICANDO');
  assert.equal((await world.book(id)).length, before.length);
});

test('C-4 T1: exactly one order of a plan, with the taskId and the prompt', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PLANIFICANDO');
  await world.quiet();
  const [order, ...others] = world.of(id, 'tarea.generar_plan');
  assert.deepEqual(others, []);
  assert.partialDeepStrictEqual(order, {
    originator: 'orchestrator-service',
    payload: { prompt: newTask.prompt, repositorioOrigen: newTask.repositorioOrigen, intento: 1 },
  });
});

test('C-5 T2: the plan is shown, and no order goes out', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  await world.quiet();
  assert.deepEqual(world.orders(id), ['tarea.generar_plan']);
  const news = world.of(id, 'tarea.estado_cambiado').at(-1);
  assert.partialDeepStrictEqual(news?.payload, {
    estado: 'ESPERANDO_APROBACION_PLAN',
    resultado: { planId: 'plan-1', plan: { pasos: ['paint it'] } },
  });
});

test('C-6 C-14 nobody approves: the task waits, however long, and nothing happens', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  await world.advance(20 * minute);
  assert.equal(await world.state(id), 'ESPERANDO_APROBACION_PLAN');
  assert.deepEqual(world.orders(id), ['tarea.generar_plan']);
});

test('C-7 C-l T3: the approval becomes one order to the smith, to which the orchestrator itself does not react', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'EJECUTANDO_CODIGO');
  await world.quiet();
  const approvals = world.of(id, 'tarea.aprobar_plan');
  assert.deepEqual(
    approvals.map(({ originator }) => originator),
    ['gateway-service', 'orchestrator-service'],
  );
  // Both have the same name; the smith takes the orchestrator's alone.
  assert.deepEqual(
    world.smith.orders.map(({ name, originator }) => [name, originator]),
    [
      ['tarea.generar_plan', 'orchestrator-service'],
      ['tarea.aprobar_plan', 'orchestrator-service'],
    ],
  );
  const book = await world.book(id);
  assert.equal(book.filter(({ reason }) => reason === 'tarea.aprobar_plan').length, 1);
  assert.equal(book.filter(({ type }) => type === 'signal_refused').length, 0);
});

test('C-8 T4: the change is tested under its own URL, once', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PROBANDO_INTEGRACION');
  await world.quiet();
  const [order, ...others] = world.of(id, 'tarea.probar_integracion');
  assert.deepEqual(others, []);
  assert.equal(order?.payload.pullRequestUrl, 'file:///repository#1');
  assert.deepEqual(
    world.sandbox.orders.map(({ name }) => name),
    ['tarea.probar_integracion'],
  );
});

test('C-10 C-11 T6, T7: the feedback model sees the log once, and its text goes to the smith', async () => {
  const model = new ScriptedModel(async () => ({ text: 'use more green', usage: null }));
  await using world = await World.start({ ...silentServices, model });
  const id = await taskIn(world, 'ESPERANDO_FEEDBACK_INTERNO');
  await world.reaches(id, 'EJECUTANDO_CODIGO');
  assert.deepEqual(
    model.failures.map(({ log, round }) => [log, round]),
    [['it is not green', 1]],
  );
  const [order, ...others] = world.of(id, 'tarea.enviar_feedback');
  assert.deepEqual(others, []);
  assert.partialDeepStrictEqual(order?.payload, {
    promptCorreccion: 'use more green',
    sessionId: 'session-1',
    ronda: 2,
  });
  const told = world.of(id, 'tarea.estado_cambiado').map(({ payload }) => payload.estado);
  assert.deepEqual(told.slice(-2), ['ESPERANDO_FEEDBACK_INTERNO', 'EJECUTANDO_CODIGO']);
});

test('C-13 C-s tests that never pass end in FALLIDA_LOGICA after the corrections, without asking the model once more', async () => {
  await using world = await World.start({ verdict: () => false });
  const id = await world.create();
  await world.until(id, 'ESPERANDO_APROBACION_PLAN');
  await world.approve(id);
  await world.until(id, 'FALLIDA_LOGICA', { stepMs: 5 * second });
  await world.quiet();
  assert.equal(world.model.failures.length, 3);
  assert.equal(world.of(id, 'tarea.enviar_feedback').length, 3);
  assert.equal(world.of(id, 'tarea.probar_integracion').length, 4);
  const news = world.of(id, 'tarea.estado_cambiado').at(-1);
  assert.partialDeepStrictEqual(news?.payload, {
    estado: 'FALLIDA_LOGICA',
    motivo: 'feedback_rounds_spent',
    resultado: { rondas: 4, log: 'a test fails in round 4' },
  });
  const states = await world.states(id);
  assert.deepEqual(states.slice(-2), ['PROBANDO_INTEGRACION', 'FALLIDA_LOGICA']);
});

test('C-25 C-26 every event has the four fields of its metadata, one taskId for its task, a traceId of its own, and the payload of the table', async () => {
  const rounds = {
    verdict: ({ payload }: { payload: { ronda?: number | undefined } }) => payload.ronda === 2,
  };
  await using world = await World.start(rounds);
  const id = await world.create();
  await world.until(id, 'ESPERANDO_APROBACION_PLAN');
  await world.approve(id);
  await world.until(id, 'COMPLETADA');
  await world.quiet();
  // What can't be read by the schemas, metadata included, never comes to be heard.
  assert.ok(world.heard.length > 15);
  const services = ['gateway', 'orchestrator', 'herrero-adapter', 'sandbox'];
  for (const { taskId, time, originator } of world.heard) {
    assert.equal(taskId, id);
    assert.ok(time > 0);
    assert.ok(
      services.some((name) => originator === `${name}-service`),
      originator,
    );
  }
  const traceIds = new Set(world.heard.map(({ traceId }) => traceId));
  assert.equal(traceIds.size, world.heard.length);
});

test('C-u NUEVA and the first order are one commit: there is no task that nobody works on', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PLANIFICANDO');
  const book = await world.book(id);
  const at = new Set(book.slice(0, 5).map((entry) => entry.at));
  assert.equal(at.size, 1);
  assert.equal((await world.states(id))[0], 'NUEVA');
  const open = await world.client.jobs.list({ state: 'NUEVA' });
  assert.deepEqual(open.jobs, []);
});

test('C-i state and order are stored together: what was not published when the process ended goes out afterwards', async () => {
  const first = await World.start(silentServices);
  await using _folder = first;
  const id = newId();
  await first.say(id, 'tarea.crear', newTask);
  await first.stop();
  await using again = await World.start({ ...silentServices, previous: first });
  const heard = () => [...first.heard, ...again.heard].filter(({ taskId }) => taskId === id);
  await until(async () => {
    await again.clock.advance(second);
    const news = heard().filter(({ name }) => name === 'tarea.estado_cambiado');
    return news.some(({ payload }) => 'estado' in payload && payload.estado === 'PLANIFICANDO');
  });
  const orders = heard().filter(({ name }) => name === 'tarea.generar_plan');
  assert.equal(new Set(orders.map(({ traceId }) => traceId)).size, 1);
});

test('C-o without approval the plan is carried out at once, in the name of the system', async () => {
  await using world = await World.start(silentServices);
  const id = await world.create({ reglas: { requiereAprobacionPlan: false } });
  await world.result(id, answers.plan());
  assert.equal(await world.state(id), 'EJECUTANDO_CODIGO');
  await world.quiet();
  const [order] = world.of(id, 'tarea.aprobar_plan');
  assert.partialDeepStrictEqual(order, {
    originator: 'orchestrator-service',
    payload: { planId: 'plan-1', usuario: 'system:auto_approval' },
  });
  assert.deepEqual((await world.record(id)).approval, {
    planId: 'plan-1',
    by: 'system:auto_approval',
  });
});

test('C-n repository and branch go with the orders; without reglas a plan needs approval', async () => {
  await using world = await World.start(silentServices);
  const { prompt, repositorioOrigen, usuario } = newTask;
  const id = newId();
  const payload = payloads['tarea.crear'].parse({ prompt, repositorioOrigen, usuario });
  await world.say(id, 'tarea.crear', { ...payload, ramaDestino: 'next' });
  await world.result(id, answers.plan());
  assert.equal(await world.state(id), 'ESPERANDO_APROBACION_PLAN');
  await world.quiet();
  assert.partialDeepStrictEqual(world.of(id, 'tarea.generar_plan')[0]?.payload, {
    repositorioOrigen: newTask.repositorioOrigen,
    ramaDestino: 'next',
  });
});

test('C-m a session is learned from a result or a sign of life; until then polls name none', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PLANIFICANDO');
  await world.advance(2 * minute);
  await world.result(id, {
    name: 'resultado.estado_actualizado',
    payload: { sessionId: 'session-7', estado: 'thinking' },
  });
  await world.advance(2 * minute);
  const polls = world.of(id, 'tarea.consultar_estado').map(({ payload }) => payload.sessionId);
  assert.deepEqual(polls, ['', 'session-7']);
});

test('C-q a rejected plan is made anew with the comment, and ends the task without one', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  const usuario = newTask.usuario;
  await world.say(id, 'tarea.rechazar_plan', { planId: 'plan-1', comentario: 'blue', usuario });
  assert.equal(await world.state(id), 'PLANIFICANDO');
  await world.quiet();
  assert.partialDeepStrictEqual(world.of(id, 'tarea.generar_plan')[1]?.payload, {
    comentario: 'blue',
    planRechazado: 'plan-1',
    intento: 2,
  });
  await world.result(id, answers.plan('plan-2'));
  await world.say(id, 'tarea.rechazar_plan', { planId: 'plan-2', usuario });
  assert.equal(await world.state(id), 'FALLIDA_LOGICA');
  assert.equal((await world.record(id)).reason?.code, 'plan_rejected');
});

test('C-q a user cancels while somebody works, who is told; also while the feedback model thinks', async () => {
  const thought = Promise.withResolvers<{ text: string; usage: null }>();
  const model = new ScriptedModel(() => thought.promise);
  await using world = await World.start({ ...silentServices, model });
  const working = await taskIn(world, 'EJECUTANDO_CODIGO');
  const thinking = await taskIn(world, 'ESPERANDO_FEEDBACK_INTERNO');
  for (const id of [working, thinking])
    await world.say(id, 'tarea.cancelar', { usuario: newTask.usuario });
  assert.equal(await world.state(working), 'FALLIDA_LOGICA');
  assert.equal(await world.state(thinking), 'ESPERANDO_FEEDBACK_INTERNO');
  thought.resolve({ text: 'better', usage: null });
  await world.reaches(thinking, 'FALLIDA_LOGICA');
  for (const id of [working, thinking]) {
    assert.equal((await world.record(id)).reason?.code, 'cancelled_by_user');
    assert.equal(world.orders(id).at(-1), 'tarea.cancelar');
  }
});

test('C-r an agent that gives up ends the task at once, in the state that its error names', async () => {
  await using world = await World.start(silentServices);
  for (const [isInfrastructure, state] of [
    [false, 'FALLIDA_LOGICA'],
    [true, 'FALLIDA_INFRAESTRUCTURA'],
  ] as const) {
    const id = await taskIn(world, 'EJECUTANDO_CODIGO');
    await world.result(id, answers.error(isInfrastructure));
    assert.equal(await world.state(id), state);
    await world.quiet();
    assert.partialDeepStrictEqual(world.of(id, 'tarea.estado_cambiado').at(-1)?.payload, {
      estado: state,
      motivo: 'broken',
      resultado: { mensaje: 'the brush is broken', servicio: 'herrero-adapter-service' },
    });
  }
});

test('C-cc a result of an older delegation is ignored and is no sign of life; one without a number is believed', async () => {
  await using world = await World.start({ ...silentServices, model: new ScriptedModel() });
  const id = await taskIn(world, 'ESPERANDO_FEEDBACK_INTERNO');
  await world.reaches(id, 'EJECUTANDO_CODIGO');
  await world.advance(4 * minute + 59 * second);
  const late = answers.pullRequest();
  // Delegations: plan 1, code 2, test 3, correction 4.
  await world.result(id, { ...late, payload: { ...late.payload, intento: 2 } } as typeof late);
  assert.equal(await world.state(id), 'MONITOREANDO_EJECUCION');
  const refused = (await world.book(id)).filter(({ type }) => type === 'signal_refused');
  assert.match(JSON.stringify(refused[0]?.details), /stale: it belongs to delegation 2, and 4/);
  await world.advance(second);
  assert.equal(await world.state(id), 'FALLIDA_INFRAESTRUCTURA');
  const other = await taskIn(world, 'EJECUTANDO_CODIGO');
  await world.result(other, { ...late, payload: { ...late.payload, intento: 2 } } as typeof late);
  assert.equal(await world.state(other), 'PROBANDO_INTEGRACION');
});

test('C-t the feedback model: hangs and failures are tried again twice, then infrastructure has failed', async () => {
  const model = new ScriptedModel(async () => {
    throw new Error('no route to the model');
  });
  await using world = await World.start({ ...silentServices, model });
  const id = await taskIn(world, 'ESPERANDO_FEEDBACK_INTERNO');
  await world.until(id, 'FALLIDA_INFRAESTRUCTURA');
  assert.equal(model.failures.length, 3);
  assert.equal((await world.record(id)).reason?.code, 'feedback_unreachable');
  model.answer = () => new Promise(() => undefined);
  const hanging = await taskIn(world, 'ESPERANDO_FEEDBACK_INTERNO');
  await world.until(hanging, 'FALLIDA_INFRAESTRUCTURA', { stepMs: 10 * second });
  assert.equal(model.failures.length, 6);
});

test('C-t a feedback model without usable text ends in FALLIDA_LOGICA', async () => {
  const model = new ScriptedModel(async () => ({ text: '  ', usage: null }));
  await using world = await World.start({ ...silentServices, model });
  const id = await taskIn(world, 'ESPERANDO_FEEDBACK_INTERNO');
  await world.until(id, 'FALLIDA_LOGICA');
  assert.equal(model.failures.length, 3);
  assert.equal((await world.record(id)).reason?.code, 'feedback_unusable');
});

test('S-76 what runs and calls report is summed, and a limit ends the task', async () => {
  const usage = { costeUsd: 1.5, tokensEntrada: 10, tokensSalida: 5 };
  const model = new ScriptedModel(async () => ({ text: 'better', usage }));
  await using world = await World.start({
    ...silentServices,
    model,
    settings: { costLimitUsd: 3 },
  });
  const id = await taskIn(world, 'EJECUTANDO_CODIGO');
  const change = answers.pullRequest();
  await world.result(id, {
    ...change,
    payload: { ...change.payload, uso: usage },
  } as typeof change);
  await world.result(id, answers.verdict(false));
  await world.reaches(id, 'EJECUTANDO_CODIGO');
  assert.equal((await world.record(id)).costUsd, 3);
  await world.result(id, {
    ...change,
    payload: { ...change.payload, uso: usage },
  } as typeof change);
  assert.equal(await world.state(id), 'FALLIDA_LOGICA');
  const { costUsd, reason } = await world.record(id);
  assert.deepEqual([costUsd, reason?.code], [4.5, 'cost_limit']);
});

test('C-q C-14 an operator’s cancel tells the user and whoever works, as the user’s own does', async () => {
  for (const state of ['PLANIFICANDO', 'EJECUTANDO_CODIGO', 'PROBANDO_INTEGRACION'] as const) {
    await using world = await World.start(silentServices);
    const id = await taskIn(world, state);
    await world.client.jobs.cancel(id, { reason: 'the machine is needed' });
    await world.quiet();
    assert.equal(await world.state(id), 'FALLIDA_LOGICA');
    const news = world.of(id, 'tarea.estado_cambiado').at(-1);
    assert.partialDeepStrictEqual(news?.payload, {
      estado: 'FALLIDA_LOGICA',
      motivo: 'cancelled_by_operator',
      resultado: { mensaje: 'the machine is needed (dev)' },
    });
    assert.equal(world.orders(id).at(-1), 'tarea.cancelar');
    assert.equal((await world.record(id)).reason?.code, 'cancelled_by_operator');
  }
});

test('C-s a correction that changes nothing and fails in the same way ends the task early', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'EJECUTANDO_CODIGO');
  const handIn = async (diff: string, round: number) => {
    const pullRequest = answers.pullRequest(round);
    await world.result(id, { ...pullRequest, payload: { ...pullRequest.payload, diff } } as never);
    await world.result(id, answers.verdict(false));
    await world.quiet();
  };
  await handIn('+ green', 1);
  await handIn('+ greener', 2);
  assert.equal(await world.state(id), 'EJECUTANDO_CODIGO');
  await handIn('+ greener', 3);
  assert.equal(await world.state(id), 'FALLIDA_LOGICA');
  assert.equal((await world.record(id)).reason?.code, 'no_progress');
  assert.equal(world.model.failures.length, 2);
});

test('C-b an event without a row is counted where Prometheus looks', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PLANIFICANDO');
  await world.result(id, answers.pullRequest());
  await world.approve(id);
  await world.quiet();
  const metrics = await (await fetch(`${world.server.url}/metrics`)).text();
  assert.match(metrics, /^signals_ignored_total\{outcome="noted"\} 1$/m);
  assert.match(metrics, /^signals_ignored_total\{outcome="refused"\} 1$/m);
});
