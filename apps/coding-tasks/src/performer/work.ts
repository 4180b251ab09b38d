import type { Payload } from '../contract/payloads.ts';
import type { Run } from './ledger.ts';

type ResultName =
  | 'resultado.plan_generado'
  | 'resultado.pr_generada'
  | 'resultado.integracion_finalizada'
  | 'resultado.error';

/** What a run says in the end; session and attempt are added by the performer. */
export type Outcome = {
  readonly [N in ResultName]: {
    readonly name: N;
    readonly payload: Omit<Payload<N>, 'intento' | 'sessionId'>;
  };
}[ResultName];

/** What a performer remembers of a task from one order to the next: plain JSON, by name. */
export type Facts = Readonly<Record<string, string | null>>;

export interface WorkEnd {
  readonly outcome: Outcome;
  /** Replaces what was remembered; null leaves it. */
  readonly facts: Facts | null;
}

export interface WorkControl {
  /** Aborts when the work is cancelled, superseded, or the service stops. */
  readonly signal: AbortSignal;
  readonly facts: Facts;
  /** What it does just now, for people: the next answer to a poll. */
  say(status: string): void;
  /** What it prints, for whoever watches just now. */
  print(text: string): void;
}

/** The trade of a performer: one run from its beginning to its outcome. @throws WorkFailed */
export type Work = (run: Run, control: WorkControl) => Promise<WorkEnd>;

/**
 * The work can't be done. `isRecoverable`: the fault lies with the machinery and not with what was
 * asked or with the agent; the task then fails as one of infrastructure.
 */
export class WorkFailed extends Error {
  override readonly name = 'WorkFailed';
  readonly code: string;
  readonly isRecoverable: boolean;

  constructor(code: string, message: string, isRecoverable: boolean) {
    super(message);
    this.code = code;
    this.isRecoverable = isRecoverable;
  }
}
