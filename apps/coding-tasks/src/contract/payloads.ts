import { z } from 'zod';
import { originators, states } from './names.ts';

/**
 * What each event carries. A field that the written contract does not have is optional wherever a
 * peer says it, so that peers which know only the contract are understood.
 *
 * `intento` is the number of the delegation within the task: every order that hands work out has the
 * next one (plan 1, code 2, test 3, correction 4, …). A peer that returns it with its results lets a
 * late result of an older delegation be told from a current one; one that does not is believed.
 * `ronda` counts the rounds of code: 1, and one more with each correction.
 */
const intento = z.int().min(1);
const ronda = z.int().min(1);
const text = z.string();
const filled = z.string().min(1);
/** What names something; longer ones are malformed. */
const maxNameChars = 2_000;
const name = z.string().max(maxNameChars);
export const filledName = filled.max(maxNameChars);
/** What a peer says to people: cut off where nobody would read on. */
const maxWordsChars = 10_000;
const words = text.transform((whole) => whole.slice(0, maxWordsChars));
const object = z.record(z.string(), z.json());

/** What a run of an agent, or of the feedback model, has used; null where that is not known. */
export const usage = z.object({
  costeUsd: z.number().min(0).nullable().default(null),
  tokensEntrada: z.int().min(0).nullable().default(null),
  tokensSalida: z.int().min(0).nullable().default(null),
});
export type Usage = z.infer<typeof usage>;

const answered = { intento: intento.optional(), uso: usage.nullable().optional() };
const session = { sessionId: name.optional() };

export const rules = z.object({ requiereAprobacionPlan: z.boolean().default(true) });

/** User → orchestrator, by way of the gateway; `usuario` counts only from there. */
const userActions = {
  'tarea.crear': z.object({
    prompt: filled,
    repositorioOrigen: filledName,
    reglas: rules.default({ requiereAprobacionPlan: true }),
    /** The branch that the work is for. Default: the remote's HEAD. */
    ramaDestino: filledName.optional(),
    usuario: filledName.optional(),
    /** The client's own, by which it knows the answer again. */
    solicitudId: filledName.optional(),
  }),
  'tarea.rechazar_plan': z.object({
    planId: filledName,
    /** What is wrong with the plan: with it another one is made, without it the task ends. */
    comentario: filled.optional(),
    usuario: filledName.optional(),
  }),
};

/** Under one name from the gateway to the orchestrator and from there to a service. */
const sharedOrders = {
  'tarea.aprobar_plan': z.object({
    planId: filledName,
    /** Of the plan that was shown; from the gateway. */
    hash: filledName.optional(),
    usuario: filledName.optional(),
    /** The approved plan itself, the prompt and where the work goes; from the orchestrator. */
    plan: object.optional(),
    prompt: text.optional(),
    repositorioOrigen: name.optional(),
    ramaDestino: name.nullable().optional(),
    sessionId: name.optional(),
    intento: intento.optional(),
    ronda: ronda.optional(),
  }),
  /** From the orchestrator: nobody waits for this task any more, and its work shall stop. */
  'tarea.cancelar': z.object({
    motivo: text.optional(),
    usuario: filledName.optional(),
  }),
};

/** Orchestrator → smith or sandbox. */
const orders = {
  'tarea.generar_plan': z.object({
    prompt: text,
    repositorioOrigen: name.optional(),
    ramaDestino: name.nullable().optional(),
    /** Why the last plan was rejected; with its id. */
    comentario: text.optional(),
    planRechazado: name.optional(),
    sessionId: name.optional(),
    intento: intento.optional(),
  }),
  'tarea.consultar_estado': z.object({
    /** Empty until the smith has named one; the task is then known by its taskId. */
    sessionId: name,
    /** Which service is asked: others leave it alone. Missing: whoever has the task. */
    destinatario: z.enum([originators.smith, originators.sandbox]).optional(),
    intento: intento.optional(),
  }),
  'tarea.enviar_feedback': z.object({
    sessionId: name,
    promptCorreccion: text,
    repositorioOrigen: name.optional(),
    ramaDestino: name.nullable().optional(),
    pullRequestUrl: name.optional(),
    intento: intento.optional(),
    ronda: ronda.optional(),
  }),
  'tarea.probar_integracion': z.object({
    pullRequestUrl: name,
    repositorioOrigen: name.optional(),
    ramaDestino: name.nullable().optional(),
    intento: intento.optional(),
    ronda: ronda.optional(),
  }),
};

/** Smith or sandbox → orchestrator. */
const results = {
  'resultado.plan_generado': z.object({
    planId: filledName,
    plan: object,
    ...session,
    ...answered,
  }),
  'resultado.estado_actualizado': z.object({
    sessionId: name,
    /** For people. */
    estado: words,
    ...answered,
  }),
  'resultado.pr_generada': z.object({
    pullRequestUrl: filledName,
    /** The change itself, where the smith has it: a unified diff. */
    diff: text.optional(),
    ...session,
    ...answered,
  }),
  'resultado.integracion_finalizada': z.object({
    exito: z.boolean(),
    log: text,
    ...answered,
  }),
  /**
   * The peer gives up. `recuperable`: the fault lies with the machinery (no network, no disk, the
   * agent can't be started), and the task fails as one of infrastructure; else the agent itself
   * can't do what it was asked.
   */
  'resultado.error': z.object({
    codigo: filledName,
    mensaje: words,
    recuperable: z.boolean(),
    ...session,
    ...answered,
  }),
};

/** Orchestrator → gateway: what users are told. */
const news = {
  'tarea.estado_cambiado': z.object({
    estado: z.enum(states),
    estadoPadre: z.enum(states).nullable(),
    motivo: text.nullable(),
    resultado: object.nullable(),
    /** Whose task it is. */
    usuario: text,
    solicitudId: text.nullable(),
  }),
  /** The outcome of something that a user asked for, accepted or not. */
  'tarea.accion_atendida': z.object({
    /** The event that asked, and its traceId. */
    accion: text,
    traceIdAccion: text,
    aceptada: z.boolean(),
    motivo: text.nullable(),
    estado: z.enum(states).nullable(),
    usuario: text,
  }),
};

const logLine = z.object({ mensaje: words, campos: object.default({}) });

/** Any → whoever collects logs, best effort. */
const logs = {
  'log.debug': logLine,
  'log.info': logLine,
  'log.warn': logLine,
  'log.error': logLine,
};

export const payloads = {
  ...userActions,
  ...sharedOrders,
  ...orders,
  ...results,
  ...news,
  ...logs,
};

export type EventName = keyof typeof payloads;
export type Payload<N extends EventName> = z.infer<(typeof payloads)[N]>;

export function isEventName(name: string): name is EventName {
  return Object.hasOwn(payloads, name);
}

/** Every event of the orders' exchange, of the results', … */
export const eventNames = Object.keys(payloads).filter(isEventName);
