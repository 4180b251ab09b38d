import { assert } from '../std/assert.ts';
import type { JsonValue } from '../std/json.ts';
import type { Blueprint, State } from './blueprint.ts';
import type {
  Also,
  Change,
  Emitted,
  FiredDeadline,
  Post,
  Reservation,
  ShareWish,
  TaskChange,
} from './change.ts';
import type { Emission } from './emit.ts';
import type { ClientInfo } from './handler.ts';
import type { HistoryEntry } from './history.ts';
import type { Job, Lease } from './job.ts';
import type { Timer, TimerName } from './signal.ts';

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
  /** Keys that were full when this decision was tried before, and when a share of them expires. */
  readonly full: ReadonlyMap<string, number | null>;
  /** For how long a bus subscription has been live, ms; 0: it is down; null: there is none of this name. */
  readonly liveForMs: (subscription: string) => number | null;
  /** Whether there is a blackout of this name. */
  readonly isBlackout: (name: string) => boolean;
  /** SHA-256, in hex. */
  readonly hash: (text: string) => string;
  /**
   * The blueprint that a child is started from, and its input as that blueprint's schema gives it.
   * @throws CapatazError BLUEPRINT_NOT_FOUND, INPUT_INVALID
   */
  readonly prepareChild: (
    blueprint: string,
    input: JsonValue,
  ) => { readonly blueprint: Blueprint; readonly input: JsonValue };
}

export interface LeaseOffer {
  readonly lease: Lease;
  readonly forMs: number;
}

/** A change in the making: collects what one signal does to one job. */
export class Step {
  job: Job;
  /** Why a row refused its signal. */
  said: string | null = null;
  readonly context: DecideContext;
  readonly #blueprint: Blueprint | null;
  readonly #history: HistoryEntry[] = [];
  readonly #tasks: TaskChange[] = [];
  readonly #rearm: Timer[] = [];
  readonly #disarm: TimerName[] = [];
  #reservations: Reservation[] = [];
  readonly #releases: string[] = [];
  readonly #settles: { key: string; amount: number }[] = [];
  #awaits: ShareWish | null = null;
  readonly #posts: Post[] = [];
  readonly #takes: string[] = [];
  readonly #keys: string[] = [];
  readonly #children: Change[] = [];
  readonly #emits: Emitted[] = [];
  readonly #before: Job;
  #signalId: string | null = null;
  #fired: FiredDeadline | null = null;
  #looks = false;
  #brings: Pick<Job, 'results'> | null = null;
  #timers: readonly Timer[] | 'keep' = 'keep';
  #leaseForMs: number | 'keep' = 'keep';
  #entered = false;

  constructor(job: Job, blueprint: Blueprint | null, context: DecideContext) {
    this.job = job;
    this.#before = job;
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

  /** The wait that the job stood in is over. */
  get isElsewhere(): boolean {
    return this.#timers !== 'keep';
  }

  set(fields: Partial<Job>): void {
    this.job = { ...this.job, ...fields };
  }

  enter(state: string): void {
    const { entry, hops } = this.job;
    const isStart = entry === 0;
    const from = isStart ? {} : { from: this.job.state };
    // To begin is no transition.
    this.set({
      state,
      entry: entry + 1,
      hops: isStart ? 0 : hops + 1,
      failures: 0,
      results: null,
      resume: null,
      ...this.#brings,
    });
    this.#brings = null;
    this.#entered = true;
    this.note({ type: 'state_entered', state, ...from });
  }

  /** Gives the job its next wait, or none, with the deadlines that belong to it. */
  await(fields: Pick<Job, 'status' | 'wait'> & Partial<Job>, timers: readonly Timer[] = []): void {
    // A retry goes on with what brought the job here.
    const isNewWait =
      fields.wait !== null && (fields.wait.type !== 'timer' || fields.wait.to !== null);
    this.set({ lease: null, ...(isNewWait ? { answer: null } : {}), ...fields });
    this.#timers = timers;
    this.#looks = isNewWait && ((this.#blueprint?.early.size ?? 0) > 0 || this.job.unread);
  }

  /** What the next state that is entered finds besides what the job has. */
  bring(fields: Pick<Job, 'results'>): void {
    this.#brings = fields;
  }

  /** The blueprint's own state for how the job stands, else the one given, else the present one. */
  shownAs(status: 'failed' | 'cancelled' | 'quarantined', otherwise = this.job.state): string {
    return this.#blueprint?.ends[status] ?? otherwise;
  }

  /** What the blueprint has a job say that is stopped; null also where the blueprint is gone. */
  get onStop(): Blueprint['onStop'] {
    return this.#blueprint?.onStop ?? null;
  }

  /** A job that nobody waits for any more tells nobody: the store throws the letter away. */
  tellParent(ending: string): void {
    const { parent, id, result, error } = this.job;
    if (parent === null) return;
    const body = { result, error: error === null ? null : { ...error } } as JsonValue;
    const item = { id, kind: 'child', name: ending, body } as const;
    this.post({ jobId: parent.jobId, item, expiresAfterMs: null });
  }

  /** The signals that the state's own rows, and those of its parents, take. */
  rowNames(): string[] {
    return [...this.state.rows.keys()];
  }

  /** Gives up what the wait has under way: open tasks, the child. */
  leaveWait(): void {
    const { wait, id } = this.job;
    if (wait?.type === 'task' || wait?.type === 'parallel') this.task({ type: 'cancel_all' });
    if (wait?.type !== 'child') return;
    const item = { id: `cancel:${id}`, kind: 'cancel', name: 'cancel', body: null } as const;
    this.post({ jobId: wait.jobId, item, expiresAfterMs: null });
  }

  /** Sets a deadline of the present wait anew, beside the others. */
  rearm(timer: Timer): void {
    this.#rearm.push(timer);
  }

  /** The change holds only where this deadline is still set. */
  fire(deadline: FiredDeadline): void {
    this.#fired = deadline;
  }

  disarm(name: TimerName): void {
    this.#disarm.push(name);
  }

  reserve(reservation: Reservation): void {
    this.#reservations.push(reservation);
  }

  settle(key: string, amount: number): void {
    this.#settles.push({ key, amount });
  }

  /** Also of what this very decision took: a chain of states may be through with it already. */
  release(key: string): void {
    this.#reservations = this.#reservations.filter((taken) => taken.key !== key);
    this.#releases.push(key);
  }

  /** The wait that begins is for this. */
  awaitShare(wish: ShareWish): void {
    this.#awaits = wish;
  }

  register(key: string): void {
    this.#keys.push(key);
  }

  post(post: Post): void {
    this.#posts.push(post);
  }

  /** Takes an item out of the inbox. */
  take(id: string): void {
    this.#takes.push(id);
  }

  /** The signal of this id counts only once. */
  seen(id: string): void {
    this.#signalId = id;
  }

  /** Where the next entry will stand. */
  get place(): number {
    return this.#history.length;
  }

  /** @param place where its entry stands: before what the handler's action has done since. */
  emit(emission: Emission, place = this.place): void {
    const id = this.context.newId();
    const number = this.job.emitted + 1;
    this.set({ emitted: number });
    const { exchange, name } = emission;
    this.#emits.push({ id, number, ...emission });
    const entry = { type: 'event_emitted', number, details: { id, exchange, name } } as const;
    this.#history.splice(place, 0, entry);
  }

  start(child: Change): void {
    this.#children.push(child);
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
    const isSaid = change.type === 'cancel_all' && this.#tasks.at(-1)?.type === 'cancel_all';
    if (!isSaid) this.#tasks.push(change);
  }

  note(entry: HistoryEntry): void {
    this.#history.push(entry);
  }

  /** Nothing but tasks, entries and letters: the job itself stays as it is. */
  #isAside(also: Also | null): boolean {
    if (this.job !== this.#before || this.#timers !== 'keep') return false;
    const touches = also !== null && also.rearm.length + also.disarm.length + also.takes.length > 0;
    return !touches && this.#tasks.length + this.#posts.length > 0;
  }

  toChange(): Change {
    const also = this.#also();
    return {
      job: this.job,
      scope: this.#isAside(also) ? 'tasks' : 'job',
      entered: this.#entered,
      tasks: this.#tasks,
      timers: this.#timers,
      leaseForMs: this.#leaseForMs,
      history: this.#history,
      reservations: this.#reservations,
      also,
    };
  }

  #also(): Also | null {
    const also: Also = {
      rearm: this.#rearm,
      disarm: this.#disarm,
      releases: this.#releases,
      settles: this.#settles,
      awaits: this.#awaits,
      fired: this.#fired,
      signalId: this.#signalId,
      posts: this.#posts,
      takes: this.#takes,
      looks: this.#looks,
      keys: this.#keys,
      emits: this.#emits,
      children: this.#children,
    };
    const isEmpty = Object.values(also).every((part) =>
      Array.isArray(part) ? part.length === 0 : !part,
    );
    return isEmpty ? null : also;
  }
}
