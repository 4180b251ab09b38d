import type { JsonObject } from 'capataz';
import type { Client } from 'capataz/client';
import type { ServerMessage } from '../contract/client.ts';
import { isTaskState, isTerminal, parentOf, type TaskState } from '../contract/names.ts';
import { blueprintName } from '../task/blueprint.ts';
import { outcomeOf } from '../task/news.ts';
import { taskInput, taskRecord } from '../task/record.ts';

type JobView = Awaited<ReturnType<Client['jobs']['get']>>;

/** A task as its owner and the reviewers see it. */
export interface TaskView {
  readonly taskId: string;
  readonly usuario: string;
  readonly solicitudId: string | null;
  readonly prompt: string;
  readonly repositorioOrigen: string;
  readonly ramaDestino: string | null;
  readonly estado: TaskState;
  readonly estadoPadre: TaskState | null;
  /** The plan that waits for approval, or that was approved. */
  readonly plan: {
    readonly planId: string;
    readonly plan: JsonObject;
    readonly hash: string;
  } | null;
  readonly aprobadoPor: string | null;
  readonly resultado: JsonObject;
  readonly creada: string;
  readonly terminada: string | null;
}

/** @returns null for a job that is no task */
export function taskView(job: JobView): TaskView | null {
  if (job.blueprint !== blueprintName || !isTaskState(job.state)) return null;
  const { prompt, repositorioOrigen, ramaDestino, usuario, solicitudId } = taskInput.parse(
    job.input,
  );
  const { plan, approval, reason } = taskRecord.parse(job.data);
  return {
    ...{ taskId: job.id, usuario, solicitudId, prompt, repositorioOrigen, ramaDestino },
    estado: job.state,
    estadoPadre: parentOf(job.state),
    plan: plan === null ? null : { planId: plan.planId, plan: plan.content, hash: plan.hash },
    aprobadoPor: approval?.by ?? null,
    resultado: outcomeOf(job, reason),
    creada: job.created_at,
    terminada: job.ended_at,
  };
}

/** Where a task stands, told as news of it are. */
export function currentState(task: TaskView): ServerMessage {
  const { taskId, estado, plan, solicitudId, resultado } = task;
  const shown = estado === 'ESPERANDO_APROBACION_PLAN' ? plan : null;
  return stateMessage({ taskId, estado, solicitudId, resultado: shown ?? resultado });
}

interface StateNews {
  readonly taskId: string;
  readonly estado: TaskState;
  readonly solicitudId: string | null;
  readonly resultado: JsonObject | null;
  readonly motivo?: string | null;
}

/** TAREA_FINALIZADA knows two endings; which failure it was stands in its result (C-x). */
export function stateMessage(news: StateNews): ServerMessage {
  const { taskId, estado, solicitudId, resultado, motivo } = news;
  if (isTerminal(estado))
    return {
      tipo: 'TAREA_FINALIZADA',
      payload: {
        taskId,
        estado: estado === 'COMPLETADA' ? 'COMPLETADA' : 'FALLIDA',
        resultado: { estado, ...resultado },
      },
    };
  return {
    tipo: 'ACTUALIZACION_PROGRESO',
    payload: {
      taskId,
      mensaje: messageFor(estado, motivo === 'heartbeat' ? resultado : null),
      datosAdicionales: {
        ...{ estado, estadoPadre: parentOf(estado) },
        ...(solicitudId === null ? {} : { solicitudId }),
        ...resultado,
      },
    },
  };
}

const messages: Readonly<Record<TaskState, string>> = {
  NUEVA: 'the task is created',
  PLANIFICANDO: 'a plan is being made',
  ESPERANDO_APROBACION_PLAN: 'the plan waits for your approval',
  EJECUTANDO_CODIGO: 'the code is being written',
  MONITOREANDO_EJECUCION: 'the code is being written',
  PROBANDO_INTEGRACION: 'the change is being tested',
  ESPERANDO_FEEDBACK_INTERNO: 'the tests have failed; a correction is being prepared',
  COMPLETADA: 'done',
  FALLIDA_LOGICA: 'failed',
  FALLIDA_INFRAESTRUCTURA: 'failed',
};

function messageFor(estado: TaskState, said: JsonObject | null): string {
  return typeof said?.mensaje === 'string' ? said.mensaje : messages[estado];
}
