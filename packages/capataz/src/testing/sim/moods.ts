import type { JsonObject } from '../../std/json.ts';
import type { HandlerValue, WorkerResult, WorkerTask } from '../../worker/index.ts';
import type { Dice } from './dice.ts';

/** What simulated handlers do besides their duty: fail, hang, wait, die. The weather sets how often. */
export interface Moods {
  readonly dice: Dice;
  /** Resolves after simulated time. */
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Share of runs that throw. */
  readonly throws: number;
  /** Share of runs that never return. */
  readonly hangs: number;
  /** Share of runs of dangerous work that kill their process. */
  readonly dies: number;
  /** kill -9 of the process that runs this. */
  readonly die: (why: string) => void;
}

export interface WorkOrder {
  readonly attempt: string;
  readonly skill: string;
  readonly params: JsonObject;
  readonly signal?: AbortSignal;
  /** The whole task, where our own SDK handed it over. */
  readonly task: WorkerTask | null;
}

/** What the workers of a simulated world do. */
export type Work = (
  order: WorkOrder,
  moods: Moods,
) => Promise<HandlerValue | WorkerResult> | HandlerValue | WorkerResult;
