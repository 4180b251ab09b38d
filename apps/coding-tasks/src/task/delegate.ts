import { emit, waitFor } from 'capataz';
import { jsonOf } from '../contract/messages.ts';
import { exchanges, type Originator, originators } from '../contract/names.ts';
import type { Payload } from '../contract/payloads.ts';
import { note, recordOf, type TaskJob, type TaskRecord } from './record.ts';
import type { DelegatedState, TaskRules } from './rules.ts';

/** The subscription that brings what the services say; while it is down their silence means nothing. */
export const resultsSubscription = 'resultados';

type Order =
  | 'tarea.generar_plan'
  | 'tarea.aprobar_plan'
  | 'tarea.enviar_feedback'
  | 'tarea.probar_integracion';

/** Where the work belongs, in every order that begins some. */
export function placeOf({ input }: TaskJob) {
  return { repositorioOrigen: input.repositorioOrigen, ramaDestino: input.ramaDestino };
}

/** Hands work to a service under the next number. */
export function order<N extends Order>(
  job: TaskJob,
  { name, to, changes = {} }: { name: N; to: Originator; changes?: Partial<TaskRecord> },
  payload: Omit<Payload<N>, 'intento'>,
): void {
  const intento = recordOf(job).attempt + 1;
  note(job, { ...changes, attempt: intento, awaited: to });
  job.emit(exchanges.orders, name, jsonOf({ ...payload, intento }));
}

/** Waits for whoever has the order: for a result, a sign of life, or neither for too long. */
export function awaitAnswer(job: TaskJob, state: DelegatedState, rules: TaskRules) {
  const { silenceMs, pollMs, stateLimitMs } = rules;
  const enter = state === 'EJECUTANDO_CODIGO' ? { enter: 'MONITOREANDO_EJECUCION' as const } : {};
  const poll = { every: `${pollMs}ms`, emit: question(job), ...enter };
  return waitFor({
    subscription: resultsSubscription,
    silence: { after: `${silenceMs}ms` },
    ...(rules.polled.includes(state) ? { poll } : {}),
    ...(stateLimitMs > 0 ? { deadline: `${stateLimitMs}ms` } : {}),
    on: { silence: 'FALLIDA_INFRAESTRUCTURA', timeout: 'FALLIDA_INFRAESTRUCTURA' },
  });
}

/** What the poll asks, as far as the session is known by now. */
export function question(job: TaskJob) {
  const { sessionId, awaited, attempt } = recordOf(job);
  const destinatario = awaited === originators.sandbox ? originators.sandbox : originators.smith;
  const payload = { sessionId, destinatario, intento: attempt };
  return emit(exchanges.orders, 'tarea.consultar_estado', payload);
}
