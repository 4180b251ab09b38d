import type { Change } from '../core/change.ts';
import type { Task } from '../core/job.ts';
import type { TaskClass } from '../core/requirements.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type {
  ChangeOutcome,
  ChangeRequest,
  ClaimOutcome,
  Note,
  StartMark,
  Store,
  Work,
  WorkOutcome,
} from '../store/contract.ts';
import { stampedJob } from '../store/rules.ts';
import type { HeldAttempts } from './attempts.ts';
import type { JobCache } from './job-cache.ts';
import type { Lobby, Match } from './lobby.ts';
import { StoreClock } from './store-clock.ts';
import { StoreHealth } from './store-health.ts';
import type { Ticket } from './ticket.ts';
import type { Wake } from './wakes.ts';

/** What a commit did, for those who act on it. Effects follow the commit, never before. */
export interface Committed {
  readonly done: readonly DoneChange[];
  /** Handed out by this commit. */
  readonly assigned: readonly Task[];
  /** First signs of work that it was to write; those of attempts that are no longer current it left out. */
  readonly starts: readonly StartMark[];
  /** What came in and changed no job. */
  readonly notes: readonly Note[];
  /** Jobs whose book grew. */
  readonly jobIds: ReadonlySet<string>;
  /** Letters came into inboxes, whose alarms ring now. */
  readonly lettersCame: boolean;
}

export interface DoneChange {
  readonly request: ChangeRequest;
  readonly outcome: Extract<ChangeOutcome, { type: 'done' }>;
}

const lookAgainMs = 1_000;
/** A store that nobody writes to is tried this often, so that its absence shows before somebody asks. */
const longestQuietMs = 2_000;

/** Children come into being with their parent's change, so they are done where it is. */
function childrenOf({ also }: Change, at: number): DoneChange[] {
  return (also?.children ?? []).flatMap((change) => [
    {
      request: { change },
      outcome: { type: 'done' as const, job: stampedJob(change, at), cancelled: [] },
    },
    ...childrenOf(change, at),
  ]);
}

/** The claims of a commit see what it queues: what they have drained nobody needs to look for. */
function leftQueued(wakes: readonly Wake[], { claims }: WorkOutcome): TaskClass[] {
  const drained = new Set(claims.flatMap(({ drained }) => drained));
  return wakes.map(({ taskClass }) => taskClass).filter(({ key }) => !drained.has(key));
}

interface CommitterParts {
  readonly store: Store;
  readonly lobby: Lobby;
  readonly cache: JobCache;
  readonly held: HeldAttempts;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The one door to `store.commit`: adds the claims of waiting workers to what is committed, and
 * tells everybody afterwards.
 */
export class Committer {
  readonly time: StoreClock;
  readonly #store: Store;
  readonly #lobby: Lobby;
  readonly #cache: JobCache;
  readonly #held: HeldAttempts;
  readonly #clock: Clock;
  readonly #health: StoreHealth;
  readonly #listeners: ((committed: Committed) => void)[] = [];
  #cancelLook: CancelTimer | null = null;
  /** What others have queued was not looked at. */
  #isBehind = false;
  #isStopped = false;

  constructor(parts: CommitterParts) {
    this.#store = parts.store;
    this.#lobby = parts.lobby;
    this.#cache = parts.cache;
    this.#held = parts.held;
    this.#clock = parts.clock;
    this.time = new StoreClock(parts);
    this.#health = new StoreHealth(parts);
  }

  /** Whether the store takes writes, as far as is known. */
  get isHealthy(): boolean {
    return this.#health.isHealthy;
  }

  /** Finds out whether a store that is shared is there, if nothing else does so. */
  async tryStore(): Promise<void> {
    if (!this.isHealthy) this.#lookAgainSoon();
    else if (this.#health.quietMs >= longestQuietMs)
      await this.#health.try().catch(() => this.#lookAgainSoon());
  }

  /** Looks no more after failures. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelLook?.();
  }

  onCommitted(listener: (committed: Committed) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * @param wakes the tasks that this work queues at once
   * @param own a wish for tasks that came with the request
   */
  async commit(
    work: Work,
    wakes: readonly Wake[] = [],
    own: Ticket | null = null,
  ): Promise<WorkOutcome> {
    return this.#run(work, this.#lobby.match(wakes, own), wakes);
  }

  /**
   * Hands out from the backlog; the ticket is told. Synchronous up to the commit, so that nothing
   * can be queued between the look and the parking of a ticket that found nothing.
   * @returns whether there was anything to ask for.
   */
  tryClaim(ticket: Ticket): boolean {
    // Also where something is to be claimed: another may have taken that, and queued more.
    if (this.#isBehind) this.handOutSoon();
    const matches = this.#lobby.claim(ticket);
    if (matches.length === 0) return false;
    // A failed commit has told the ticket; its poll goes on waiting.
    this.#run({}, matches, []).catch(() => undefined);
    return true;
  }

  /** Claims for the parked polls of a worker: it offers more than before, or has room again. */
  serve(worker: string): void {
    for (const ticket of this.#lobby.parkedOf(worker)) this.tryClaim(ticket);
  }

  /** Another instance may have queued something, which is of interest once a poll waits here. */
  async followQueue(): Promise<void> {
    if (this.#lobby.parkedCount > 0) return this.handOutBacklog();
    this.#isBehind = true;
  }

  /** Reads what is queued, and claims for parked polls: after a release, another's commit, or a missed wake. */
  async handOutBacklog(): Promise<void> {
    this.#isBehind = false;
    const { mark } = this.#lobby;
    const classes = await this.#store.queuedClasses();
    this.#lobby.queuedInAll(classes, mark);
    await this.offer(classes.map((taskClass) => ({ taskClass, strategy: 'default' })));
  }

  /** The same, and again after a while where the store does not answer. */
  handOutSoon(): void {
    this.handOutBacklog().catch(() => this.#lookAgainSoon());
  }

  /**
   * Claims for parked polls what is queued in these classes. How many tasks there are is not known, so
   * that each round asks for twice as many polls as the last: one task must not cost 10,000 claims.
   * @returns how many were handed out.
   */
  async offer(classes: readonly Wake[]): Promise<number> {
    let handedOut = 0;
    let left = classes;
    for (let polls = 1; left.length > 0; polls *= 2) {
      const wakes = left.flatMap((wake) => Array.from({ length: polls }, () => wake));
      const matches = this.#lobby.match(wakes, null);
      if (matches.length === 0) break;
      const { claims } = await this.#run({}, matches, []);
      const count = claims.reduce((sum, { tasks }) => sum + tasks.length, 0);
      // What is left may be for nobody who waits, as a second suspect is.
      if (count === 0 && polls >= this.#lobby.parkedCount) break;
      handedOut += count;
      const drained = new Set(claims.flatMap((claim) => claim.drained));
      left = left.filter(({ taskClass }) => !drained.has(taskClass.key));
    }
    return handedOut;
  }

  async #run(work: Work, matches: readonly Match[], wakes: readonly Wake[]): Promise<WorkOutcome> {
    const claims = matches.map(({ claim }) => claim);
    const parkedSince = this.#lobby.watch();
    let outcome: WorkOutcome;
    try {
      outcome = await this.#health.commit({ ...work, claims });
    } catch (error) {
      for (const match of matches) this.#lobby.abandon(match);
      parkedSince();
      this.#lookAgainSoon();
      throw error;
    }
    this.time.heard(outcome.at);
    const { done, freed } = this.#recordChanges(work.changes ?? [], outcome);
    this.#lobby.queued(leftQueued(wakes, outcome));
    const assigned = this.#recordClaims(matches, outcome);
    this.#tell(work, {
      done,
      assigned,
      starts: work.starts ?? [],
      notes: work.notes ?? [],
      lettersCame: outcome.letters.some(({ length }) => length > 0),
    });
    this.#serveOverlooked(parkedSince(), wakes, freed, matches);
    return outcome;
  }

  /**
   * Polls that this commit's claims left out and that may have something now: parked while it was
   * under way, or held back by what has ended with it.
   */
  #serveOverlooked(
    parkedSince: readonly Ticket[],
    wakes: readonly Wake[],
    freed: ReadonlySet<string>,
    matches: readonly Match[],
  ): void {
    const tickets = new Set<Ticket>();
    if (wakes.length > 0) for (const ticket of parkedSince) tickets.add(ticket);
    for (const worker of freed) {
      for (const ticket of this.#lobby.parkedOf(worker)) tickets.add(ticket);
    }
    for (const { claim } of matches) {
      for (const ticket of this.#lobby.unblocked(claim.worker)) tickets.add(ticket);
    }
    for (const ticket of tickets) this.tryClaim(ticket);
  }

  /** After a failed commit: what was queued may have been missed by everybody. */
  #lookAgainSoon(): void {
    if (this.#cancelLook !== null || this.#isStopped) return;
    this.#cancelLook = this.#clock.after(lookAgainMs, () => {
      this.#cancelLook = null;
      this.#lookAgain().catch(() => this.#lookAgainSoon());
    });
  }

  /** Tries the store first, so that it is known to be back even where nobody asks for anything. */
  async #lookAgain(): Promise<void> {
    if (!this.isHealthy) await this.#health.try();
    await this.handOutBacklog();
  }

  /** `freed` are the workers that hold less than before. */
  #recordChanges(
    requests: readonly ChangeRequest[],
    outcome: WorkOutcome,
  ): { readonly done: DoneChange[]; readonly freed: ReadonlySet<string> } {
    const done: DoneChange[] = [];
    const freed = new Set<string>();
    for (const [index, request] of requests.entries()) {
      const result = outcome.changes[index];
      if (result?.type !== 'done') continue;
      done.push({ request, outcome: result }, ...childrenOf(request.change, outcome.at));
      // Aside of the job: what is known of it may be newer than what this change was decided on.
      if (request.change.scope === 'job') this.#cache.put(result.job);
      for (const task of request.change.tasks) {
        if (!('attempt' in task) || task.attempt === null) continue;
        const worker = this.#held.get(task.attempt)?.task.attempt?.worker;
        if (worker !== undefined) freed.add(worker);
        this.#held.remove(task.attempt);
      }
      for (const { worker, attempt } of result.cancelled) {
        freed.add(worker);
        this.#held.cancel(worker, attempt);
      }
    }
    return { done, freed };
  }

  #recordClaims(matches: readonly Match[], outcome: WorkOutcome): Task[] {
    const assigned: Task[] = [];
    for (const [index, match] of matches.entries()) {
      const claimed: ClaimOutcome = outcome.claims[index] ?? { tasks: [], drained: [] };
      for (const task of claimed.tasks) {
        this.#held.add(task, this.#clock.steady());
        assigned.push(task);
      }
      if (claimed.cut) match.ticket.missed = true;
      this.#lobby.settle(match, claimed);
    }
    return assigned;
  }

  #tell(work: Work, happened: Omit<Committed, 'jobIds'>): void {
    const { done, assigned } = happened;
    const jobIds = new Set<string>();
    for (const { outcome } of done) jobIds.add(outcome.job.id);
    for (const { jobId } of assigned) jobIds.add(jobId);
    for (const { jobId } of happened.notes) jobIds.add(jobId);
    for (const { jobId } of work.starts ?? []) jobIds.add(jobId);
    for (const listener of this.#listeners) listener({ ...happened, jobIds });
  }
}
