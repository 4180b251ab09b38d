import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, minute, second, silentServices, taskIn, World } from '../fixtures/world.ts';

async function enteredAt(world: World, id: string, state: string): Promise<number> {
  const book = await world.book(id);
  const entered = book.find((entry) => entry.type === 'state_entered' && entry.state === state);
  return Date.parse(String(entered?.at));
}

/** From the entry into a state to the end of the task, in ms. */
async function lasted(world: World, id: string, state: string): Promise<number> {
  const book = await world.book(id);
  const ended = book.find(({ type }) => type === 'job_failed');
  return Date.parse(String(ended?.at)) - (await enteredAt(world, id, state));
}

const delegated = [
  ['PLANIFICANDO', 'herrero-adapter-service'],
  ['EJECUTANDO_CODIGO', 'herrero-adapter-service'],
  ['PROBANDO_INTEGRACION', 'sandbox-service'],
] as const;

for (const [state, service] of delegated) {
  test(`C-14 C-15 C-16 C-17 C-23 C-v silence in ${state}: two polls, then the task fails at 5:00, not before, and names who was silent`, async () => {
    await using world = await World.start(silentServices);
    const id = await taskIn(world, state);
    await world.advance(2 * minute);
    await world.advance(2 * minute);
    await world.advance(minute - 1);
    assert.ok(!(await world.state(id)).startsWith('FALLIDA'));
    await world.advance(1);
    assert.equal(await world.state(id), 'FALLIDA_INFRAESTRUCTURA');
    assert.equal(await lasted(world, id, state), 5 * minute);
    assert.equal(world.of(id, 'tarea.consultar_estado').length, 2);
    await world.quiet();
    assert.partialDeepStrictEqual(world.of(id, 'tarea.estado_cambiado').at(-1)?.payload, {
      estado: 'FALLIDA_INFRAESTRUCTURA',
      motivo: 'silence',
      resultado: { servicio: service, mensaje: `no sign of life from ${service}` },
    });
  });
}

test('C-18 a result just before the end of the silence begins the next one at full length', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'PLANIFICANDO');
  await world.advance(5 * minute - 1);
  await world.result(id, answers.plan());
  await world.approve(id);
  await world.advance(2 * minute);
  await world.advance(3 * minute - 1);
  assert.equal(await world.state(id), 'MONITOREANDO_EJECUCION');
});

test('C-19 C-20 C-21 C-24 an hour of signs of life: 30 polls, each answered at once, and the task goes on', async () => {
  await using world = await World.start({
    smith: { takesMs: { 'tarea.aprobar_plan': 61 * minute } },
  });
  const id = await world.create({ reglas: { requiereAprobacionPlan: false } });
  await world.until(id, 'EJECUTANDO_CODIGO', { stepMs: 5 * second });
  const since = await enteredAt(world, id, 'EJECUTANDO_CODIGO');
  for (let polls = 1; polls <= 30; polls += 1) {
    // To the moment of the poll and not beyond: what is answered at once is answered then.
    await world.advance(since + polls * 2 * minute - world.clock.now());
    assert.equal(world.of(id, 'tarea.consultar_estado').length, polls);
    assert.equal(world.of(id, 'resultado.estado_actualizado').length, polls);
    assert.equal(await world.state(id), 'MONITOREANDO_EJECUCION');
  }
  const [poll] = world.of(id, 'tarea.consultar_estado');
  const [heartbeat] = world.of(id, 'resultado.estado_actualizado');
  assert.equal(heartbeat?.time, poll?.time);
  await world.advance(minute);
  await world.until(id, 'COMPLETADA');
});

test('C-22 a sign of life at 4:59 gives five more minutes: alive at 9:58, failed at 9:59', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'EJECUTANDO_CODIGO');
  await world.advance(4 * minute + 59 * second);
  await world.result(id, answers.heartbeat());
  await world.advance(4 * minute + 59 * second);
  assert.equal(await world.state(id), 'MONITOREANDO_EJECUCION');
  await world.advance(second);
  assert.equal(await world.state(id), 'FALLIDA_INFRAESTRUCTURA');
  assert.equal(await lasted(world, id, 'EJECUTANDO_CODIGO'), 9 * minute + 59 * second);
});

test('C-f any result is a sign of life, also one that moves nothing; users and polls are none', async () => {
  await using world = await World.start(silentServices);
  const odd = await taskIn(world, 'EJECUTANDO_CODIGO');
  const asked = await taskIn(world, 'EJECUTANDO_CODIGO');
  await world.advance(4 * minute);
  await world.result(odd, answers.plan('plan-9'));
  await world.approve(asked);
  await world.advance(minute);
  assert.equal(await world.state(odd), 'MONITOREANDO_EJECUCION');
  assert.equal(await world.state(asked), 'FALLIDA_INFRAESTRUCTURA');
});

test('C-a C-24 the sub-state is entered with the first poll, has a parent, and all that moves EJECUTANDO_CODIGO moves it', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'EJECUTANDO_CODIGO');
  await world.advance(2 * minute - 1);
  assert.equal(await world.state(id), 'EJECUTANDO_CODIGO');
  await world.advance(1);
  assert.equal(await world.state(id), 'MONITOREANDO_EJECUCION');
  await world.result(id, answers.heartbeat());
  await world.quiet();
  assert.partialDeepStrictEqual(world.of(id, 'tarea.estado_cambiado').at(-1)?.payload, {
    estado: 'MONITOREANDO_EJECUCION',
    estadoPadre: 'EJECUTANDO_CODIGO',
  });
  await world.result(id, answers.pullRequest());
  assert.equal(await world.state(id), 'PROBANDO_INTEGRACION');
});

test('C-bb a sign of life does not move the polls, and a pause makes no burst of them', async () => {
  const first = await World.start(silentServices);
  await using _folder = first;
  const id = await taskIn(first, 'EJECUTANDO_CODIGO');
  await first.advance(minute);
  await first.result(id, answers.heartbeat());
  await first.advance(minute);
  assert.equal(first.of(id, 'tarea.consultar_estado').length, 1);
  await first.stop();
  await first.clock.advance(4 * minute);
  await using second = await World.start({ ...silentServices, previous: first });
  await second.quiet();
  assert.equal(second.of(id, 'tarea.consultar_estado').length, 1);
});

test('C-g a restart gives no new silence, and a long outage kills nobody at once', async () => {
  const first = await World.start(silentServices);
  await using _folder = first;
  const id = await taskIn(first, 'EJECUTANDO_CODIGO');
  await first.quiet();
  await first.stop();
  await first.clock.advance(20 * minute);
  await using second = await World.start({ ...silentServices, previous: first });
  await second.quiet();
  assert.ok(!(await second.state(id)).startsWith('FALLIDA'));
  // One period of the poll in which an answer could be heard, and no more.
  await second.advance(2 * minute);
  await second.advance(1_000);
  assert.equal(await second.state(id), 'FALLIDA_INFRAESTRUCTURA');
});

test('C-h who comes first wins: a result after the end of the silence opens nothing again', async () => {
  await using world = await World.start(silentServices);
  const id = await taskIn(world, 'EJECUTANDO_CODIGO');
  await world.advance(5 * minute - 1);
  const heldUp = world.clock.advance(1);
  const late = world.result(id, answers.pullRequest());
  await Promise.all([heldUp, late]);
  await world.quiet();
  const state = await world.state(id);
  const book = await world.book(id);
  const hasFailed = state === 'FALLIDA_INFRAESTRUCTURA';
  assert.ok(hasFailed || state === 'PROBANDO_INTEGRACION', state);
  assert.equal(book.filter(({ type }) => type === 'job_failed').length, hasFailed ? 1 : 0);
  if (!hasFailed) await world.advance(6 * minute);
  await world.result(id, answers.pullRequest());
  assert.equal(await world.state(id), 'FALLIDA_INFRAESTRUCTURA');
});

test('C-w a stay may have a longest time, however many signs of life there are; by default it has none', async () => {
  await using world = await World.start({
    smith: { takesMs: { 'tarea.aprobar_plan': 600 * minute } },
    settings: { stateLimit: 10 * minute },
  });
  const id = await world.create({ reglas: { requiereAprobacionPlan: false } });
  await world.until(id, 'EJECUTANDO_CODIGO', { stepMs: minute });
  await world.until(id, 'FALLIDA_INFRAESTRUCTURA', { stepMs: minute });
  assert.equal((await world.record(id)).reason?.code, 'state_limit');
  assert.equal(await lasted(world, id, 'EJECUTANDO_CODIGO'), 10 * minute);
});

test('C-6 C-q a plan may have a longest wait for its approval', async () => {
  await using world = await World.start({
    ...silentServices,
    settings: { approvalLimit: 10 * minute },
  });
  const id = await taskIn(world, 'ESPERANDO_APROBACION_PLAN');
  await world.advance(10 * minute);
  assert.equal(await world.state(id), 'FALLIDA_LOGICA');
  assert.equal((await world.record(id)).reason?.code, 'approval_timeout');
});

test('C-v S-75 planning and testing may take longer than the silence, since they are polled too', async () => {
  const long = { 'tarea.generar_plan': 12 * minute, 'tarea.aprobar_plan': 12 * minute };
  await using world = await World.start({
    smith: { takesMs: long },
    sandbox: { takesMs: { 'tarea.probar_integracion': 12 * minute } },
  });
  const id = await world.create({ reglas: { requiereAprobacionPlan: false } });
  await world.until(id, 'COMPLETADA', { stepMs: minute, mostMs: 60 * minute });
  const asked = world.of(id, 'tarea.consultar_estado').map(({ payload }) => payload.destinatario);
  assert.equal(asked.filter((name) => name === 'sandbox-service').length, 5);
  assert.ok(!(await world.states(id)).slice(0, 2).includes('MONITOREANDO_EJECUCION'));
});

test('C-15 C-19 a poll that is not shorter than the silence stops the start', async () => {
  await assert.rejects(World.start({ settings: { poll: 5 * minute } }), {
    code: 'CONFIG_INVALID',
    message: /^poll: 300000 ms is not shorter than the silence of 300000 ms$/,
  });
  await assert.rejects(World.start({ settings: { polledStates: 'PLANIFICANDO,SOÑANDO' } }), {
    message: /"SOÑANDO" is none of .*\n.*EJECUTANDO_CODIGO is missing/,
  });
});

test('C-14 a smith that takes orders and never answers, a sandbox likewise: every task ends within bounds', async () => {
  await using world = await World.start({ sandbox: { isSilent: true } });
  const id = await world.create({ reglas: { requiereAprobacionPlan: false } });
  await world.until(id, 'PROBANDO_INTEGRACION', { stepMs: 5 * second });
  await world.until(id, 'FALLIDA_INFRAESTRUCTURA', { stepMs: minute, mostMs: 6 * minute });
});
