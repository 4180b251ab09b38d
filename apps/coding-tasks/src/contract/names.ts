/**
 * The names on the wire. They are those of the specification and stay Spanish; everything else in
 * this application is English.
 */

/** Topic exchanges; the name of an event is its routing key. */
export const exchanges = {
  orders: 'topico.tareas',
  results: 'topico.resultados',
  logs: 'topico.logs',
} as const;

/** Who says something: `metadata.originator`. */
export const originators = {
  gateway: 'gateway-service',
  orchestrator: 'orchestrator-service',
  smith: 'herrero-adapter-service',
  sandbox: 'sandbox-service',
} as const;
export type Originator = (typeof originators)[keyof typeof originators];

/** The closed set of states of a task. */
export const states = [
  'NUEVA',
  'PLANIFICANDO',
  'ESPERANDO_APROBACION_PLAN',
  'EJECUTANDO_CODIGO',
  'MONITOREANDO_EJECUCION',
  'PROBANDO_INTEGRACION',
  'ESPERANDO_FEEDBACK_INTERNO',
  'COMPLETADA',
  'FALLIDA_LOGICA',
  'FALLIDA_INFRAESTRUCTURA',
] as const;
export type TaskState = (typeof states)[number];

export const terminalStates = ['COMPLETADA', 'FALLIDA_LOGICA', 'FALLIDA_INFRAESTRUCTURA'] as const;
export type TerminalState = (typeof terminalStates)[number];

export function isTerminal(state: string): state is TerminalState {
  return terminalStates.some((terminal) => terminal === state);
}

export function isTaskState(state: string): state is TaskState {
  return states.some((known) => known === state);
}

/** The state that a sub-state belongs to. */
export function parentOf(state: string): TaskState | null {
  return state === 'MONITOREANDO_EJECUCION' ? 'EJECUTANDO_CODIGO' : null;
}
