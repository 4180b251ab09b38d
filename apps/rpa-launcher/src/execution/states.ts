/** The one table of states: whatever asks whether one is active or final asks here (LH-25). */

/** A robot runs, or will: its device is taken. `UPDATE` is stored as RUNNING. */
export const activeStates = [
  'DEPLOYED',
  'QUEUED',
  'PENDING_EXECUTION',
  'RUNNING',
  'RUN_PAUSED',
] as const;

/** What the Control Room or a callback may say of an end. */
export const finalStates = [
  'COMPLETED',
  'RUN_COMPLETED',
  'RUN_FAILED',
  'DEPLOY_FAILED',
  'RUN_ABORTED',
  'RUN_TIMED_OUT',
] as const;

/** Before the Control Room has the run, and ours alone: they stand in no row of Ejecuciones. */
export const ownStates = ['PENDIENTE', 'DESPLEGANDO', 'SIN_CONFIRMAR', 'OMITIDA'] as const;

/** What a row of Ejecuciones can be in. */
export const rowStates: readonly string[] = [
  ...activeStates,
  ...finalStates,
  'UNKNOWN',
  'COMPLETED_INFERRED',
];

/** UNKNOWN is transient while FechaFin is null, and final with it. */
export type ActiveState = (typeof activeStates)[number];
export type FinalState = (typeof finalStates)[number];
export type ExecutionState =
  | ActiveState
  | FinalState
  | (typeof ownStates)[number]
  | 'UNKNOWN'
  | 'COMPLETED_INFERRED';

export function isActive(state: string): state is ActiveState {
  return activeStates.some((known) => known === state);
}

export function isFinal(state: string): state is FinalState {
  return finalStates.some((known) => known === state);
}

/** What is said in another way than the tables have it. Words that one client only has seen are among them. */
const otherWords: Readonly<Record<string, ReportedState>> = {
  UPDATE: 'RUNNING',
  STARTED: 'RUNNING',
  FAILED: 'RUN_FAILED',
  FAILED_TO_DEPLOY: 'DEPLOY_FAILED',
};

/** Everything by which the Control Room says that a device is taken. */
export const activeWords: readonly string[] = [
  ...activeStates,
  ...Object.keys(otherWords).filter((word) => isActive(otherWords[word] ?? '')),
];

export type ReportedState = ActiveState | FinalState | 'UNKNOWN';

/** @returns null for a word that nobody knows: it is logged, and changes nothing */
export function reportedState(word: string): ReportedState | null {
  const text = word.trim().toUpperCase();
  if (isActive(text) || isFinal(text) || text === 'UNKNOWN') return text;
  return (Object.hasOwn(otherWords, text) ? otherWords[text] : null) ?? null;
}

/**
 * Of several runs of one deployment: what goes on before what is not known, and that before what ended;
 * among ends the worst (LH-13).
 */
const weight: Readonly<Record<ReportedState, number>> = {
  RUNNING: 12,
  RUN_PAUSED: 11,
  PENDING_EXECUTION: 10,
  QUEUED: 9,
  DEPLOYED: 8,
  UNKNOWN: 7,
  DEPLOY_FAILED: 6,
  RUN_FAILED: 5,
  RUN_TIMED_OUT: 4,
  RUN_ABORTED: 3,
  RUN_COMPLETED: 2,
  COMPLETED: 1,
};

export function weightOf(state: ReportedState): number {
  return weight[state];
}
