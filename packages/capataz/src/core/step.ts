import { assert } from '../std/assert.ts';
import type { Blueprint, State } from './blueprint.ts';
import type { Change, TaskChange } from './change.ts';
import type { ClientInfo } from './handler.ts';
import type { HistoryEntry } from './history.ts';
import type { Job, Lease } from './job.ts';
import type { Timer } from './signal.ts';

/** What a decision may use besides the job and the signal: nothing is read, all is handed in. */
export interface DecideContext {
  /** The decision's time, for handlers to see. Deadlines don't use it (S-3). */
  readonly now: number;
  readonly client: ClientInfo;
  /** Transitions without a wait before a job counts as an endless loop. Default 100. */
  readonly maxTransitions: number;
  /** The source of task ids. */
  readonly newId: () => string;
  /** Uniform in [0, 1), for the jitter of a back-off. */
  readonly chance: number;
  /**
   * Taken at once by a `run` handler that the job comes to stand at, which saves the commit of a
   * claim of its own. Null where this instance has no room.
   */
  readonly lease: LeaseOffer | null;
}

export interface LeaseOffer {
  readonly lease: Lease;
  readonly forMs: number;
}

/** A change in the making: collects what one signal does to one job. */
export class Step {
  job: Job;
  readonly context: DecideContext;
  readonly #blueprint: Blueprint | null;
  readonly #history: HistoryEntry[] = [];
  readonly #tasks: TaskChange[] = [];
  #timers: readonly Timer[] | 'keep' = 'keep';
  #leaseForMs: number | 'keep' = 'keep';
  #entered = false;

  constructor(job: Job, blueprint: Blueprint | null, context: DecideContext) {
    this.job = job;
    this.#blueprint = blueprint;
    this.context = context;
  }

  get blueprint(): Blueprint {
    assert(this.#blueprint !== null, 'this signal needs the blueprint, and it is gone');
    return this.#blueprint;
  }

  /** The present state. A job can stand in `failed` without the blueprint having that state. */
  get state(): State {
    const state = this.blueprint.states.get(this.job.state);
    assert(
      state !== undefined,
      `blueprint ${this.blueprint.name} has no state "${this.job.state}"`,
    );
    return state;
  }

  set(fields: Partial<Job>): void {
    this.job = { ...this.job, ...fields };
  }

  enter(state: string): void {
    const { entry, hops } = this.job;
    const isStart = entry === 0;
    const from = isStart ? {} : { from: this.job.state };
    // To begin is no transition.
    this.set({ state, entry: entry + 1, hops: isStart ? 0 : hops + 1, failures: 0 });
    this.#entered = true;
    this.note({ type: 'state_entered', state, ...from });
  }

  /** Gives the job its next wait, or none, with the deadlines that belong to it. */
  await(fields: Pick<Job, 'status' | 'wait'> & Partial<Job>, timers: readonly Timer[] = []): void {
    this.set({ lease: null, ...fields });
    this.#timers = timers;
  }

  /** Lets the present state's `run` handler begin. */
  claim({ lease, forMs }: LeaseOffer): void {
    this.set({ lease, status: 'running' });
    this.#leaseForMs = forMs;
    this.note({
      type: 'handler_claimed',
      state: this.job.state,
      number: this.job.failures + 1,
      details: { instance: lease.instance },
    });
  }

  task(change: TaskChange): void {
    this.#tasks.push(change);
  }

  note(entry: HistoryEntry): void {
    this.#history.push(entry);
  }

  toChange(): Change {
    return {
      job: this.job,
      entered: this.#entered,
      tasks: this.#tasks,
      timers: this.#timers,
      leaseForMs: this.#leaseForMs,
      history: this.#history,
      reservations: [],
    };
  }
}
