import { CapatazError } from 'capataz';
import {
  type Answer,
  type Call,
  check,
  clientOf,
  ok,
  param,
  type Route,
  refuseForeignPages,
} from 'capataz/server';
import { z } from 'zod';
import { type ClientMessage, clientMessage, repository } from '../contract/client.ts';
import { states } from '../contract/names.ts';
import { filledName } from '../contract/payloads.ts';
import { ClientSocket, perform } from './client-socket.ts';
import { type Gateway, refusalText } from './gateway.ts';

const filled = z.string().min(1);
const params = { id: "The task's id." };
const task = z.looseObject({ taskId: filled, estado: z.enum(states) });
const accepted = z.object({ taskId: filled, aceptada: z.boolean(), motivo: z.string().nullable() });
const newTask = z.object({
  prompt: filled,
  repositorioOrigen: repository,
  ramaDestino: filledName.optional(),
  solicitudId: filledName.optional(),
  reglas: z.object({ requiereAprobacionPlan: z.boolean() }).optional(),
});
const approval = z.object({ planId: filledName, hash: filledName.optional() });
const rejection = z.object({ planId: filledName, comentario: filled.optional() });
const socketQuery = z.object({
  /** What agents and tests print comes, too. */
  registros: z.enum(['true', 'false']).optional(),
});
const cancellation = z.object({ motivo: filled.optional() });

/** The users' side over HTTP and WebSocket. Whose the token is, is the user. */
export function gatewayRoutes(
  gateway: Gateway,
  { publicUrl }: { readonly publicUrl: string | null },
): Route[] {
  return [
    {
      method: 'GET',
      path: '/tareas',
      area: 'client',
      operation: {
        id: 'listTasks',
        summary: "The user's newest tasks, oldest first",
        answers: { 200: { description: 'The tasks', body: z.object({ tareas: z.array(task) }) } },
      },
      handle: async (call) => ok({ tareas: await gateway.tasks(clientOf(call).name) }),
    },
    {
      method: 'GET',
      path: '/tareas/{id}',
      area: 'client',
      operation: {
        id: 'getTask',
        summary: 'A task with its plan and what has come of it',
        params,
        answers: { 200: { description: 'The task', body: task } },
        errors: ['JOB_NOT_FOUND'],
      },
      handle: async (call) =>
        ok(await gateway.task(clientOf(call).name, param(call.request, 'id'))),
    },
    ...actionRoutes(gateway),
    {
      method: 'GET',
      path: '/socket',
      area: 'client',
      operation: {
        id: 'openTaskSocket',
        summary: 'A WebSocket: what the user wants goes in, what happens to his tasks comes out',
        query: socketQuery,
        answers: { 101: { description: 'The protocol is a WebSocket from here on' } },
        errors: ['MALFORMED_REQUEST', 'FORBIDDEN', 'LIMIT'],
      },
      upgrade: {
        admit: (request) => {
          check(socketQuery, request.query);
          refuseForeignPages(request, publicUrl);
          gateway.checkRoomFor(clientOf({ request }).name);
        },
        begin: (request, socket) => {
          const wantsLogs = check(socketQuery, request.query).registros === 'true';
          new ClientSocket(gateway, { user: clientOf({ request }).name, wantsLogs }, socket);
        },
      },
      handle: () => {
        throw new CapatazError('MALFORMED_REQUEST', 'This route is for a WebSocket.');
      },
    },
  ];
}

function actionRoutes(gateway: Gateway): Route[] {
  const route = (
    word: string | null,
    operation: Pick<Route['operation'], 'id' | 'summary' | 'body'>,
    read: (call: Call) => ClientMessage,
  ): Route => ({
    method: 'POST',
    path: word === null ? '/tareas' : `/tareas/{id}/${word}`,
    area: 'client',
    operation: {
      ...operation,
      ...(word === null ? {} : { params }),
      answers: {
        200: { description: 'It is done, or was already', body: accepted },
        202: { description: 'It is on its way; the outcome is told on the socket', body: accepted },
      },
      errors: ['JOB_NOT_FOUND', 'SIGNAL_REFUSED'],
    },
    handle: (call) => act(gateway, call, read(call)),
  });
  const taskId = ({ request }: Call): string => param(request, 'id');
  return [
    route(null, { id: 'createTask', summary: 'Begins a task', body: newTask }, (call) =>
      clientMessage.parse({
        tipo: 'CREAR_TAREA',
        payload: check(newTask, call.request.body ?? {}),
      }),
    ),
    route(
      'aprobar',
      { id: 'approvePlan', summary: 'Approves the plan that is named', body: approval },
      (call) => ({
        tipo: 'APROBAR_PLAN',
        payload: { ...check(approval, call.request.body ?? {}), taskId: taskId(call) },
      }),
    ),
    route(
      'rechazar',
      {
        id: 'rejectPlan',
        summary: 'Rejects the plan: with a comment another one is made, without it the task ends',
        body: rejection,
      },
      (call) => ({
        tipo: 'RECHAZAR_PLAN',
        payload: { ...check(rejection, call.request.body ?? {}), taskId: taskId(call) },
      }),
    ),
    route(
      'cancelar',
      { id: 'cancelTask', summary: 'Ends a task, and the work on it', body: cancellation },
      (call) => ({
        tipo: 'CANCELAR_TAREA',
        payload: { ...check(cancellation, call.request.body ?? {}), taskId: taskId(call) },
      }),
    ),
  ];
}

/** @throws SIGNAL_REFUSED where the task does not take it */
async function act(gateway: Gateway, call: Call, message: ClientMessage): Promise<Answer> {
  const user = clientOf(call).name;
  const id =
    message.tipo === 'CREAR_TAREA'
      ? gateway.taskIdFor(user, message.payload.solicitudId)
      : message.payload.taskId;
  const outcome = await perform(gateway, user, id, message);
  if (outcome === null) return { status: 202, json: { taskId: id, aceptada: true, motivo: null } };
  const { aceptada, motivo, estado } = outcome;
  if (aceptada) return ok({ taskId: id, aceptada, motivo });
  const details = { reason: motivo, state: estado };
  throw new CapatazError('SIGNAL_REFUSED', refusalText(outcome), details);
}
