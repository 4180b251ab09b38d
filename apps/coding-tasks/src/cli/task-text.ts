import type { JsonObject, JsonValue } from 'capataz';
import { oneLine, plainText } from 'capataz/server';
import { z } from 'zod';
import type { ServerMessage } from '../contract/client.ts';
import { applicationName } from '../contract/envelope.ts';

/** A task as the gateway shows it. */
export const taskView = z.looseObject({
  taskId: z.string(),
  estado: z.string(),
  prompt: z.string(),
  usuario: z.string(),
  repositorioOrigen: z.string(),
  plan: z
    .object({ planId: z.string(), hash: z.string(), plan: z.record(z.string(), z.json()) })
    .nullable(),
  aprobadoPor: z.string().nullable(),
  resultado: z.record(z.string(), z.json()),
  terminada: z.string().nullable(),
});
export type TaskView = z.infer<typeof taskView>;

/** What a person reads of a task. Whatever agents and tests have written steers no terminal. */
export function taskText({ taskId, estado, plan, resultado, ...task }: TaskView): string {
  const head = [
    `${taskId}  ${estado}`,
    `${oneLine(task.repositorioOrigen)}: ${oneLine(task.prompt)}`,
  ];
  const by = task.aprobadoPor === null ? '' : `, approved by ${task.aprobadoPor}`;
  const shown =
    plan === null
      ? []
      : ['', `plan ${oneLine(plan.planId)}, hash ${plan.hash}${by}`, '', objectText(plan.plan)];
  const next =
    estado === 'ESPERANDO_APROBACION_PLAN' && plan !== null
      ? ['', `approve it: ${applicationName} task approve ${taskId} --hash ${plan.hash}`]
      : [];
  return [...head, ...shown, '', objectText(resultado), ...next].join('\n');
}

/** As it was produced: every field, and texts as they are. */
export function objectText(object: JsonObject): string {
  const fields = Object.entries(object).filter(([, value]) => value !== null);
  return fields.map(([name, value]) => fieldText(oneLine(name), value)).join('\n');
}

function fieldText(name: string, value: JsonValue): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const plain = plainText(text).trimEnd();
  if (!plain.includes('\n')) return `${name}: ${plain}`;
  return `${name}:\n${plain.replaceAll(/^(?=.)/gm, '  ')}`;
}

export function messageText({ tipo, payload }: ServerMessage): string {
  if (tipo === 'ERROR') return `ERROR  ${plainText(payload.mensaje)}`;
  if (tipo === 'TAREA_FINALIZADA') return `${payload.estado}\n${objectText(payload.resultado)}`;
  const { mensaje, datosAdicionales: { registro, estado } = {} } = payload;
  if (registro !== undefined) return plainText(mensaje).replaceAll(/^/gm, '  | ');
  return `${typeof estado === 'string' ? estado : ''}  ${plainText(mensaje)}`;
}
