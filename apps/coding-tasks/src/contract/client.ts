import { z } from 'zod';
import { hasPassword, passwordRefusal } from '../performer/repository-url.ts';
import { filledName, rules } from './payloads.ts';

/** The WebSocket between a user's client and the gateway: `{ tipo, payload }` either way. */

const filled = z.string().min(1);
const taskId = filledName;
/** Refused before it is stored anywhere. */
export const repository = filledName.refine((text) => !hasPassword(text), passwordRefusal);
const withRequest = { solicitudId: filledName.optional() };

export const clientMessage = z.discriminatedUnion('tipo', [
  z.object({
    tipo: z.literal('CREAR_TAREA'),
    payload: z.object({
      prompt: filled,
      repositorioOrigen: repository,
      reglas: rules.optional(),
      ramaDestino: filledName.optional(),
      ...withRequest,
    }),
  }),
  z.object({
    tipo: z.literal('APROBAR_PLAN'),
    payload: z.object({ taskId, planId: filledName, hash: filledName.optional(), ...withRequest }),
  }),
  z.object({
    tipo: z.literal('RECHAZAR_PLAN'),
    payload: z.object({
      taskId,
      planId: filledName,
      comentario: filled.optional(),
      ...withRequest,
    }),
  }),
  z.object({
    tipo: z.literal('CANCELAR_TAREA'),
    payload: z.object({ taskId, motivo: z.string().optional(), ...withRequest }),
  }),
]);
export type ClientMessage = z.infer<typeof clientMessage>;

const details = z.record(z.string(), z.json());

export const serverMessage = z.discriminatedUnion('tipo', [
  z.object({
    tipo: z.literal('ACTUALIZACION_PROGRESO'),
    payload: z.object({
      taskId,
      mensaje: z.string(),
      datosAdicionales: details.optional(),
    }),
  }),
  z.object({
    tipo: z.literal('TAREA_FINALIZADA'),
    payload: z.object({
      taskId,
      estado: z.enum(['COMPLETADA', 'FALLIDA']),
      resultado: details,
    }),
  }),
  z.object({
    tipo: z.literal('ERROR'),
    payload: z.object({
      mensaje: z.string(),
      taskId: filled.optional(),
      solicitudId: filledName.optional(),
    }),
  }),
]);
export type ServerMessage = z.infer<typeof serverMessage>;
