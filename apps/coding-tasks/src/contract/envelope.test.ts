import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BusEvent, WireMessage } from 'capataz/bus';
import { applicationName, taskCodec } from './envelope.ts';
import { busEvent, exchangeOf, type Message, readMessage } from './messages.ts';
import { eventNames } from './payloads.ts';

const heartbeat: Message = {
  name: 'resultado.estado_actualizado',
  taskId: 'task-1',
  traceId: 'trace-1',
  time: Date.UTC(2026, 10, 28, 10),
  originator: 'herrero-adapter-service',
  payload: { sessionId: 's', estado: 'works' },
};

function wire(body: unknown, routingKey = 'resultado.estado_actualizado'): WireMessage {
  return { routingKey, headers: {}, body: JSON.stringify(body) };
}

function decoded(message: WireMessage): BusEvent {
  const answer = taskCodec.decode(message);
  assert.ok(answer.ok, answer.ok ? '' : answer.problem);
  return answer.event;
}

test('C-25 an event on the wire is metadata with its four fields, and a payload', () => {
  const { routingKey, body } = taskCodec.encode(busEvent(heartbeat));
  assert.equal(routingKey, 'resultado.estado_actualizado');
  assert.deepEqual(JSON.parse(body), {
    metadata: {
      taskId: 'task-1',
      traceId: 'trace-1',
      timestamp: '2026-11-28T10:00:00.000Z',
      originator: 'herrero-adapter-service',
    },
    payload: {
      sessionId: 's',
      estado: 'works',
      nombreEvento: 'resultado.estado_actualizado',
    },
  });
});

test('what is written is read as it was', () => {
  const read = readMessage(decoded(taskCodec.encode(busEvent(heartbeat))));
  assert.deepEqual(read, { ok: true, message: heartbeat });
});

test('what a job emits goes out under its correlation id and in the name of the orchestrator', () => {
  const emitted = { ...busEvent(heartbeat), job: 'job-1', originator: applicationName };
  const { metadata } = JSON.parse(taskCodec.encode(emitted).body);
  assert.equal(metadata.taskId, 'task-1');
  assert.equal(metadata.originator, 'orchestrator-service');
});

test('the name is also read from the payload, where the routing key is that of a plain queue', () => {
  const { body } = taskCodec.encode(busEvent(heartbeat));
  const event = decoded({ routingKey: 'topico.resultados', headers: {}, body });
  assert.equal(event.name, 'resultado.estado_actualizado');
});

const metadata = {
  taskId: 'task-1',
  traceId: 'trace-1',
  timestamp: '2026-11-28T10:00:00Z',
  originator: 'x',
};
const broken: readonly [string, WireMessage, RegExp][] = [
  ['no JSON', { routingKey: 'tarea.crear', headers: {}, body: '{' }, /the body/],
  ['no metadata', wire({ payload: {} }), /metadata/],
  ['an empty taskId', wire({ metadata: { ...metadata, taskId: '' } }), /metadata\.taskId/],
  ['a time that is none', wire({ metadata: { ...metadata, timestamp: 'noon' } }), /timestamp/],
  ['no name anywhere', wire({ metadata, payload: {} }, 'some.queue'), /nombreEvento/],
  ['two names', wire({ metadata, payload: { nombreEvento: 'tarea.crear' } }), /nombreEvento/],
];
for (const [what, message, problem] of broken) {
  test(`C-aa what can’t be read names its field: ${what}`, () => {
    const answer = taskCodec.decode(message);
    assert.ok(!answer.ok);
    assert.match(answer.problem, problem);
  });
}

test('C-aa exito is a boolean and nothing else', () => {
  for (const exito of ['true', 1, null, undefined]) {
    const body = { metadata, payload: { exito, log: '' } };
    const read = readMessage(decoded(wire(body, 'resultado.integracion_finalizada')));
    assert.ok(!read.ok);
    assert.match(read.problem, /payload\.exito/);
  }
});

test('C-k every event has its exchange', () => {
  const byExchange = Object.groupBy(eventNames, exchangeOf);
  assert.deepEqual(byExchange['topico.resultados']?.sort(), [
    'resultado.error',
    'resultado.estado_actualizado',
    'resultado.integracion_finalizada',
    'resultado.plan_generado',
    'resultado.pr_generada',
    'tarea.accion_atendida',
    'tarea.estado_cambiado',
  ]);
  assert.deepEqual(byExchange['topico.tareas']?.sort(), [
    'tarea.aprobar_plan',
    'tarea.cancelar',
    'tarea.consultar_estado',
    'tarea.crear',
    'tarea.enviar_feedback',
    'tarea.generar_plan',
    'tarea.probar_integracion',
    'tarea.rechazar_plan',
  ]);
});
