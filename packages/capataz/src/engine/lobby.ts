import type { Task } from '../core/job.ts';
import type { TaskClass } from '../core/requirements.ts';
import { type Candidate, type Choice, pick } from '../core/strategy.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type { Random } from '../std/random.ts';
import type { Claim, ClaimOutcome } from '../store/contract.ts';
import type { HeldAttempts } from './attempts.ts';
import type { BlackoutGate } from './blackout-gate.ts';
import { ClaimsUnderWay } from './claims-under-way.ts';
import type { Deference } from './deference.ts';
import { Offers } from './offers.ts';
import { Parked } from './parked.ts';
import type { Profiles } from './profiles.ts';
import type { Ticket } from './ticket.ts';
import type { Wake } from './wakes.ts';

/** A claim that goes into a commit on behalf of a ticket. */
export interface Match {
  readonly ticket: Ticket;
  readonly claim: Claim;
  /** Orders this claim against what is queued while it runs. */
  readonly issued: number;
}

interface KnownClass {
  readonly taskClass: TaskClass;
  /** When something was queued in it last, on the lobby's own count. */
  queuedAt: number;
}

const ownChoice: Choice = { strategy: 'default', candidates: 1, warm: false, cost: null };

export interface LobbyParts {
  readonly held: HeldAttempts;
  readonly random: Random;
  readonly profiles: Profiles;
  /** Default: nothing stays in the queue that could be handed out. */
  readonly gate?: Pick<BlackoutGate, 'isShut'>;
  /** Default: none is left to other instances. */
  readonly deference?: Pick<Deference, 'leaves' | 'isLeft'>;
}

/**
 * Where polls wait and where it is known in which classes something is queued. Late binding lives
 * here: a queued task belongs to nobody until a worker asks; when several wait, the strategy picks.
 * Nothing here is truth: a claim that finds nothing costs one empty statement.
 */
export class Lobby {
  readonly #parts: LobbyParts;
  readonly #classes = new Map<string, KnownClass>();
  readonly #parked: Parked;
  readonly #claiming = new ClaimsUnderWay();
  readonly #watches = new Set<Ticket[]>();
  /** Client → turn in which it was served last: who waited longest comes first. */
  readonly #served = new Map<string, number>();
  #count = 0;

  constructor(parts: LobbyParts) {
    this.#parts = parts;
    this.#parked = new Parked(parts.profiles);
  }

  park(ticket: Ticket): void {
    this.#parked.add(ticket);
    for (const noted of this.#watches) noted.push(ticket);
  }

  /** @returns whether it was parked: else a claim is under way that will deliver to it. */
  leave(ticket: Ticket): boolean {
    this.#claiming.unblock(ticket);
    return this.#parked.delete(ticket);
  }

  get parkedCount(): number {
    return this.#parked.size;
  }

  /** Those of a worker that wait. */
  parkedOf(worker: string): readonly Ticket[] {
    return this.#parked.of(worker);
  }

  /** Notes who is parked from now on: no match before it can have seen them. @returns what ends it. */
  watch(): () => readonly Ticket[] {
    const noted: Ticket[] = [];
    this.#watches.add(noted);
    return () => {
      this.#watches.delete(noted);
      return noted.filter((ticket) => this.#parked.has(ticket));
    };
  }

  /** Something is queued in these classes. Polls whose claim is under way must look again. */
  queued(classes: readonly TaskClass[]): void {
    for (const taskClass of classes) {
      this.#count += 1;
      const known = this.#classes.get(taskClass.key);
      if (known === undefined)
        this.#classes.set(taskClass.key, { taskClass, queuedAt: this.#count });
      else known.queuedAt = this.#count;
      for (const ticket of this.#claiming.tickets()) {
        if (this.#fitsWorker(taskClass, ticket.worker)) ticket.missed = true;
      }
    }
  }

  /**
   * All classes in which something was queued when the store was asked, after `mark`. What is known of
   * others is forgotten: their tasks were cancelled, or handed out elsewhere.
   */
  queuedInAll(classes: readonly TaskClass[], mark: number): void {
    const keys = new Set(classes.map(({ key }) => key));
    for (const [key, { queuedAt }] of this.#classes)
      if (!keys.has(key) && queuedAt <= mark) this.#classes.delete(key);
    this.queued(classes);
  }

  /** Of what is known now; see `queuedInAll`. */
  get mark(): number {
    return this.#count;
  }

  /** The worker registered anew, or offers other skills. */
  workerChanged(worker: string): void {
    this.#parked.refile(worker);
  }

  /**
   * The claims of a commit that queues tasks in these classes: each task is offered to the parked
   * ticket that the strategy picks. `own` is the wish that came with the very request; it is served
   * from the backlog too.
   */
  match(wakes: readonly Wake[], own: Ticket | null): Match[] {
    const offers = new Offers(this.#parked, (ticket) => this.#freeFor(ticket));
    for (const wake of own === null && this.#parked.size === 0 ? [] : wakes) {
      if (this.#isShut(wake.taskClass)) continue;
      const best = this.#best(wake, own, offers);
      if (best === null) continue;
      const { ticket } = best.candidate;
      if (this.#parts.deference?.leaves(wake, ticket.worker) !== true)
        offers.add(ticket, best.choice);
    }
    const fresh = wakes.map(({ taskClass }) => taskClass);
    const matches: Match[] = [];
    for (const [ticket, { choice }] of offers.offered) {
      matches.push(...this.#claim(ticket, choice, fresh));
    }
    if (own !== null && !offers.offered.has(own)) matches.push(...this.#claim(own, ownChoice, []));
    return matches;
  }

  #best({ taskClass, strategy }: Wake, own: Ticket | null, offers: Offers): Best | null {
    const candidates: Candidacy[] = [];
    let count = 0;
    const consider = (ticket: Ticket): void => {
      const { worker, waitingSince } = ticket;
      const load = offers.countOf(ticket);
      candidates.push({ ticket, offer: worker.offer, load, waitingSince });
    };
    if (own !== null && this.#fitsWorker(taskClass, own.worker) && offers.hasRoom(own)) {
      consider(own);
      count += 1;
    }
    for (const group of offers.groups(taskClass)) {
      const ticket = group.firstWithRoom();
      if (ticket === null) continue;
      consider(ticket);
      count += group.size;
    }
    const best = pick(strategy, taskClass.skill, candidates);
    return best && { ...best, choice: { ...best.choice, candidates: count } };
  }

  /** What the worker may be given, less what its other claims under way may bring it. */
  #freeFor(ticket: Ticket): number {
    const room = ticket.room();
    const free = room - this.#claiming.mayBring(ticket.worker.id);
    if (room > 0 && free <= 0) this.#claiming.block(ticket);
    return free;
  }

  /** A claim from the backlog alone; none when nothing that fits is queued. */
  claim(ticket: Ticket): Match[] {
    return this.#claim(ticket, ownChoice, []);
  }

  #claim(ticket: Ticket, choice: Choice, fresh: readonly TaskClass[]): Match[] {
    const { worker } = ticket;
    const lanes = this.#lanes(worker, fresh);
    if (lanes.length === 0) return [];
    const max = Math.min(ticket.max, this.#freeFor(ticket));
    if (max <= 0) return [];
    const maxSuspects = this.#suspectsFor(ticket);
    this.#parked.delete(ticket);
    this.#claiming.add(ticket, { max, maxSuspects });
    this.#count += 1;
    const { random } = this.#parts;
    const claim: Claim = {
      worker: worker.id,
      incarnation: worker.incarnation,
      lanes,
      max,
      maxSuspects,
      attemptIds: Array.from({ length: max }, () => random.id()),
      choice,
    };
    return [{ ticket, claim, issued: this.#count }];
  }

  /** A worker holds at most one suspect (S-25), its claims under way included. */
  #suspectsFor(ticket: Ticket): number {
    const { id } = ticket.worker;
    if (this.#parts.held.suspects(id) > 0) return 0;
    if (!this.#claiming.mayBringSuspect(id)) return 1;
    this.#claiming.block(ticket);
    return 0;
  }

  /** What the claim brought is taken into account, and delivered. */
  settle({ ticket, issued }: Match, { tasks, drained }: ClaimOutcome): void {
    for (const key of drained) {
      const known = this.#classes.get(key);
      if (known !== undefined && known.queuedAt < issued) this.#classes.delete(key);
    }
    for (const task of tasks) {
      this.#count += 1;
      this.#served.set(task.spec.client, this.#count);
    }
    this.#end(ticket, tasks);
  }

  /** The commit failed: nobody got anything. */
  abandon({ ticket }: Match): void {
    this.#end(ticket, []);
  }

  #end(ticket: Ticket, tasks: readonly Task[]): void {
    this.#claiming.end(ticket);
    ticket.deliver(tasks);
  }

  /** The tickets that a claim of this worker held back, and that may look again now. */
  unblocked(worker: string): readonly Ticket[] {
    const parked: Ticket[] = [];
    for (const ticket of this.#claiming.takeBlocked(worker)) {
      if (this.#parked.has(ticket)) parked.push(ticket);
      else if (this.#claiming.has(ticket)) ticket.missed = true;
    }
    return parked;
  }

  /** One lane a client, who was served longest ago first. */
  #lanes(worker: WorkerRecord, fresh: readonly TaskClass[]): string[][] {
    const byClient = new Map<string, Set<string>>();
    const consider = (taskClass: TaskClass): void => {
      if (!this.#fitsWorker(taskClass, worker) || this.#isShut(taskClass)) return;
      if (this.#parts.deference?.isLeft(taskClass.key) === true) return;
      const lane = byClient.get(taskClass.client) ?? new Set<string>();
      byClient.set(taskClass.client, lane.add(taskClass.key));
    };
    for (const { taskClass } of this.#classes.values()) consider(taskClass);
    for (const taskClass of fresh) consider(taskClass);
    if (byClient.size === 1) return [...byClient.values()].map((lane) => [...lane]);
    const turn = (client: string): number => this.#served.get(client) ?? 0;
    return [...byClient].sort(([a], [b]) => turn(a) - turn(b)).map(([, lane]) => [...lane]);
  }

  #isShut(taskClass: TaskClass): boolean {
    return this.#parts.gate?.isShut(taskClass) ?? false;
  }

  #fitsWorker(taskClass: TaskClass, worker: WorkerRecord): boolean {
    return this.#parts.profiles.fits(taskClass, worker.offer);
  }
}

interface Candidacy extends Candidate {
  readonly ticket: Ticket;
}

type Best = NonNullable<ReturnType<typeof pick<Candidacy>>>;
