import { z } from 'zod';

const at = z.number();
const reason = z.string().transform((text) => text.slice(0, 1_000));
const attempt = z.int();

/** What is said to an execution. `at` is the sayer's time of what it saw. */
export const signals = {
  /** The launcher is about to call: this is the intent that is stored first. */
  desplegar: z.object({ attempt, deviceId: z.int(), userId: z.int() }),
  desplegado: z.object({ attempt, deploymentId: z.string().min(1), at }),
  /** Nothing was deployed; it may be tried again. */
  pospuesto: z.object({ attempt, reason }),
  /** Nothing was deployed, and trying again is of no use. */
  rechazado: z.object({ attempt, reason, at }),
  /** Nobody knows whether something was deployed. */
  sin_confirmar: z.object({ attempt, reason }),
  /** A look-up found the run, or found none. */
  encontrado: z.object({ deploymentId: z.string().min(1), startedAt: at.nullable(), at }),
  ausente: z.object({ at }),
  /** Why it is not deployed now. */
  espera: z.object({ reason }),
  omitir: z.object({ reason }),
  conciliado: z.object({
    status: z.string(),
    startedAt: at.nullable(),
    endedAt: at.nullable(),
    at,
  }),
  /** The Control Room answered and does not know the deployment. */
  no_encontrado: z.object({ at, isInferred: z.boolean() }),
  callback: z.object({
    deploymentId: z.string().min(1),
    status: z.string(),
    body: z.string(),
    at,
  }),
  /** An operator wants the run stopped; the launcher has asked the Control Room for it. */
  parar: z.object({ by: z.string() }),
  parada: z.object({ reason }),
  /** An operator says that the device is free, whatever becomes of the run. */
  liberar: z.object({ by: z.string() }),
} as const;
export type SignalName = keyof typeof signals;
export type SignalData<N extends SignalName> = z.infer<(typeof signals)[N]>;
