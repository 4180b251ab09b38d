/** What an agent is asked for: a plan that changes nothing, the change, or its correction. */
export type Phase = 'plan' | 'code' | 'correction';

export interface Turn {
  readonly phase: Phase;
  readonly prompt: string;
  /** A git worktree; all that the agent changes there counts, all else is its own affair. */
  readonly folder: string;
  /** A file outside the worktree where the agent may leave its plan or its last word. */
  readonly answerFile: string;
  /** The agent's own session to take up, or null for a new one. */
  readonly session: string | null;
  /** To be added to the agent's environment: what tells its processes from others. */
  readonly marks: Readonly<Record<string, string>>;
}

export interface Usage {
  readonly costUsd: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

export interface Answer {
  /** Its last word; the plan, in the planning phase. */
  readonly text: string;
  /** By which a later turn takes the conversation up; null where it has none. */
  readonly session: string | null;
  /** Null where the agent does not say. */
  readonly usage: Usage | null;
}

export interface TurnControl {
  /** Ends the agent, with all its processes. */
  readonly signal: AbortSignal;
  /** Signs of life, in words. */
  readonly say: (status: string) => void;
}

/**
 * A coding agent behind one verb. It rejects with `AgentFailed`, or with anything else where the
 * adapter itself is at fault.
 */
export interface Agent {
  readonly name: string;
  turn(turn: Turn, control: TurnControl): Promise<Answer>;
}

/** `isRecoverable`: it could not be started or reached; else it gave up on what it was asked. */
export class AgentFailed extends Error {
  override readonly name = 'AgentFailed';
  readonly isRecoverable: boolean;

  constructor(message: string, isRecoverable: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isRecoverable = isRecoverable;
  }
}
