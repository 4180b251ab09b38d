/** Every state meets every event: what leads elsewhere is listed, and all else changes nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTerminal, states, type TaskState } from '../contract/names.ts';
import {
  answers,
  newTask,
  ScriptedModel,
  silentServices,
  taskIn,
  World,
} from '../fixtures/world.ts';

const user = newTask.usuario;
const events: Readonly<Record<string, (world: World, id: string) => Promise<unknown>>> = {
  'tarea.crear': (world, id) => world.say(id, 'tarea.crear', newTask),
  'tarea.aprobar_plan': (world, id) => world.approve(id),
  'tarea.rechazar_plan': (world, id) =>
    world.say(id, 'tarea.rechazar_plan', { planId: 'plan-1', usuario: user }),
  'tarea.rechazar_plan, with a comment': (world, id) =>
    world.say(id, 'tarea.rechazar_plan', { planId: 'plan-1', comentario: 'no', usuario: user }),
  'tarea.cancelar': (world, id) => world.say(id, 'tarea.cancelar', { usuario: user }),
  'resultado.plan_generado': (world, id) => world.result(id, answers.plan('plan-2')),
  'resultado.estado_actualizado': (world, id) => world.result(id, answers.heartbeat()),
  'resultado.pr_generada': (world, id) => world.result(id, answers.pullRequest()),
  'resultado.integracion_finalizada, true': (world, id) => world.result(id, answers.verdict(true)),
  'resultado.integracion_finalizada, false': (world, id) =>
    world.result(id, answers.verdict(false)),
  'resultado.error': (world, id) => world.result(id, answers.error(false)),
  'resultado.error, recoverable': (world, id) => world.result(id, answers.error(true)),
};

const whileWorking = {
  'tarea.cancelar': 'FALLIDA_LOGICA',
  'resultado.error': 'FALLIDA_LOGICA',
  'resultado.error, recoverable': 'FALLIDA_INFRAESTRUCTURA',
} as const;
const whileCoding = { ...whileWorking, 'resultado.pr_generada': 'PROBANDO_INTEGRACION' } as const;

/** NUEVA is passed through in the commit that creates the task; nothing ever meets it. */
const moves: Readonly<
  Record<Exclude<TaskState, 'NUEVA'>, Readonly<Partial<Record<string, TaskState>>>>
> = {
  PLANIFICANDO: { ...whileWorking, 'resultado.plan_generado': 'ESPERANDO_APROBACION_PLAN' },
  ESPERANDO_APROBACION_PLAN: {
    'tarea.aprobar_plan': 'EJECUTANDO_CODIGO',
    'tarea.rechazar_plan': 'FALLIDA_LOGICA',
    'tarea.rechazar_plan, with a comment': 'PLANIFICANDO',
    'tarea.cancelar': 'FALLIDA_LOGICA',
    'resultado.plan_generado': 'ESPERANDO_APROBACION_PLAN',
  },
  EJECUTANDO_CODIGO: whileCoding,
  MONITOREANDO_EJECUCION: whileCoding,
  PROBANDO_INTEGRACION: {
    ...whileWorking,
    'resultado.integracion_finalizada, true': 'COMPLETADA',
    'resultado.integracion_finalizada, false': 'ESPERANDO_FEEDBACK_INTERNO',
  },
  ESPERANDO_FEEDBACK_INTERNO: {},
  COMPLETADA: {},
  FALLIDA_LOGICA: {},
  FALLIDA_INFRAESTRUCTURA: {},
};

/** What is taken without a move and is no surprise. */
const welcome: readonly [TaskState, string][] = [
  ['PLANIFICANDO', 'resultado.estado_actualizado'],
  ['EJECUTANDO_CODIGO', 'resultado.estado_actualizado'],
  ['MONITOREANDO_EJECUCION', 'resultado.estado_actualizado'],
  ['PROBANDO_INTEGRACION', 'resultado.estado_actualizado'],
  // Kept until the feedback model has answered.
  ['ESPERANDO_FEEDBACK_INTERNO', 'tarea.cancelar'],
];

for (const state of states) {
  if (state === 'NUEVA') continue;
  test(`C-1 C-2 C-12 C-b S-77 in ${state} each event leads where the table says, or is ignored, which the book shows`, async () => {
    const model = new ScriptedModel(() => new Promise(() => undefined));
    await using world = await World.start({ ...silentServices, model });
    for (const [event, say] of Object.entries(events)) {
      const id = await taskIn(world, state);
      await world.quiet();
      const before = await world.book(id);
      const heard = world.heard.length;
      await say(world, id);
      await world.quiet();
      const target: TaskState | undefined = moves[state][event];
      assert.equal(await world.state(id), target ?? state, `${event} in ${state}`);
      const added = (await world.book(id)).slice(before.length);
      if (target !== undefined) continue;
      const told = world.heard.slice(heard).filter(({ taskId, name, originator }) => {
        const isEcho = name === 'tarea.accion_atendida' || originator !== 'orchestrator-service';
        return taskId === id && !isEcho;
      });
      const isWelcome = welcome.some(([at, name]) => at === state && name === event);
      if (isWelcome || event === 'tarea.crear') continue;
      assert.deepEqual(told, [], `${event} in ${state} publishes nothing`);
      assert.equal(added.length, 1, `${event} in ${state}: ${JSON.stringify(added)}`);
      const [entry] = added;
      const isIgnored =
        entry?.type === 'signal_refused' || JSON.stringify(entry).includes('ignored: unexpected');
      assert.ok(isIgnored, `${event} in ${state}: ${JSON.stringify(entry)}`);
      assert.equal(entry?.state, isTerminal(state) ? state : entry?.state);
      assert.match(JSON.stringify(entry?.details), /"id":"[0-9a-f-]{36}"/, 'the traceId');
    }
  });
}
