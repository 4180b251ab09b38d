import type { JsonObject } from 'capataz';
import { exchanges, parentOf, type TaskState } from '../contract/names.ts';
import type { Payload } from '../contract/payloads.ts';
import { type Reason, recordOf, type TaskJob } from './record.ts';

interface News {
  readonly motivo?: string;
  readonly resultado?: JsonObject;
}

/** Tells whoever shows tasks to people what state this one is in. */
export function tell(job: TaskJob, estado: TaskState, { motivo, resultado }: News = {}): void {
  const { usuario, solicitudId } = job.input;
  job.emit(exchanges.results, 'tarea.estado_cambiado', {
    ...{ estado, estadoPadre: parentOf(estado), usuario, solicitudId },
    motivo: motivo ?? null,
    resultado: resultado ?? null,
  } satisfies Payload<'tarea.estado_cambiado'>);
}

/** What a task has come to, for people: with its last message, and whenever one asks. */
export function outcomeOf(job: Pick<TaskJob, 'data'>, reason: Reason | null): JsonObject {
  const task = recordOf(job);
  return {
    rondas: task.round,
    costeUsd: task.costUsd,
    costesDesconocidos: task.unknownCosts,
    pullRequestUrl: task.pullRequestUrl,
    diff: task.diff,
    ...(reason === null
      ? {}
      : { motivo: reason.code, mensaje: reason.message, servicio: reason.service }),
    ...(reason === null || task.failureLog === null ? {} : { log: task.failureLog }),
  };
}
