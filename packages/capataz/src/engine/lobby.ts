import type { Change } from '../core/change.ts';
import type { Task } from '../core/job.ts';
import { misfit, type TaskClass, taskClass } from '../core/requirements.ts';
import { type Candidate, type Choice, pick, type StrategyName } from '../core/strategy.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type { Random } from '../std/random.ts';
import type { Claim, ClaimOutcome } from '../store/contract.ts';
import type { HeldAttempts } from './attempts.ts';

/** A worker's wish for tasks. */
export interface Ticket {
  /** As it is known now: a heartbeat may change its skills while the ticket waits. */
  readonly worker: WorkerRecord;
  readonly max: number;
  /** How many more tasks the worker may be given now. */
  readonly room: () => number;
  /** Steady instant since when it waits. */
  readonly waitingSince: number;
  /** Something that fits was queued while a claim of this ticket was under way: claim again. */
  missed: boolean;
  /** Called once with what it got, which may be nothing. */
  readonly deliver: (tasks: readonly Task[]) => void;
}

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

interface ClaimUnderWay {
  readonly max: number;
  readonly maxSuspects: number;
}

/** Classes come from what jobs ask for, so a worker's judgements are thrown away at this many. */
const maxJudgements = 10_000;

const ownChoice: Choice = { strategy: 'default', candidates: 1, warm: false, cost: null };

/**
 * Where polls wait and where it is known in which classes something is queued. Late binding lives
 * here: a queued task belongs to nobody until a worker asks; when several wait, the strategy picks.
 * Nothing here is truth: a claim that finds nothing costs one empty statement.
 */
export class Lobby {
  readonly #classes = new Map<string, KnownClass>();
  /** Worker → class → fits. Judged once; dropped when the worker registers or changes its skills. */
  readonly #fits = new Map<string, Map<string, boolean>>();
  /** Ticket → when it was parked, on the lobby's own count. */
  readonly #parked = new Map<Ticket, number>();
  readonly #claiming = new Map<Ticket, ClaimUnderWay>();
  /** Held back by another claim of their worker: they look again when that has ended. */
  readonly #blocked = new Set<Ticket>();
  /** Client → turn in which it was served last: who waited longest comes first. */
  readonly #served = new Map<string, number>();
  readonly #held: HeldAttempts;
  readonly #random: Random;
  #count = 0;

  constructor(held: HeldAttempts, random: Random) {
    this.#held = held;
    this.#random = random;
  }

  park(ticket: Ticket): void {
    this.#count += 1;
    this.#parked.set(ticket, this.#count);
  }

  /** @returns whether it was parked: else a claim is under way that will deliver to it. */
  leave(ticket: Ticket): boolean {
    this.#blocked.delete(ticket);
    return this.#parked.delete(ticket);
  }

  parkedTickets(worker?: string): readonly Ticket[] {
    const all = [...this.#parked.keys()];
    return worker === undefined ? all : all.filter((ticket) => ticket.worker.id === worker);
  }

  /** The lobby's own count, by which `parkedSince` tells before from after. */
  mark(): number {
    this.#count += 1;
    return this.#count;
  }

  /** Tickets that were parked after the mark: no match before it can have seen them. */
  parkedSince(mark: number): readonly Ticket[] {
    return [...this.#parked].filter(([, at]) => at > mark).map(([ticket]) => ticket);
  }

  /** Something is queued in these classes. Polls whose claim is under way must look again. */
  queued(classes: readonly TaskClass[]): void {
    for (const taskClass of classes) {
      this.#count += 1;
      const known = this.#classes.get(taskClass.key);
      if (known === undefined)
        this.#classes.set(taskClass.key, { taskClass, queuedAt: this.#count });
      else known.queuedAt = this.#count;
      for (const ticket of this.#claiming.keys()) {
        if (this.#fitsWorker(taskClass, ticket.worker)) ticket.missed = true;
      }
    }
  }

  /** The worker registered anew, or offers other skills: its fit is judged again. */
  workerChanged(worker: string): void {
    this.#fits.delete(worker);
  }

  /**
   * The claims of a commit that queues tasks in these classes: each task is offered to the parked
   * ticket that the strategy picks. `own` is the wish that came with the very request; it is served
   * from the backlog too.
   */
  match(wakes: readonly Wake[], own: Ticket | null): Match[] {
    const offered = new Map<Ticket, { count: number; choice: Choice }>();
    const toWorkers = new Map<string, number>();
    const waiting = own === null ? [...this.#parked.keys()] : [own, ...this.#parked.keys()];
    for (const { taskClass, strategy } of wakes) {
      const candidates: Candidacy[] = [];
      for (const ticket of waiting) {
        if (
          !this.#fitsWorker(taskClass, ticket.worker) ||
          !this.#hasRoom(ticket, offered, toWorkers)
        )
          continue;
        const { worker, waitingSince } = ticket;
        const load = offered.get(ticket)?.count ?? 0;
        candidates.push({ ticket, offer: worker.offer, load, waitingSince });
      }
      const best = pick(strategy, taskClass.skill, candidates);
      if (best === null) continue;
      const { ticket } = best.candidate;
      toWorkers.set(ticket.worker.id, (toWorkers.get(ticket.worker.id) ?? 0) + 1);
      offered.set(ticket, { count: (offered.get(ticket)?.count ?? 0) + 1, choice: best.choice });
    }
    const fresh = wakes.map(({ taskClass }) => taskClass);
    const matches: Match[] = [];
    for (const [ticket, { choice }] of offered) {
      matches.push(...this.#claim(ticket, choice, fresh));
    }
    if (own !== null && !offered.has(own)) matches.push(...this.#claim(own, ownChoice, []));
    return matches;
  }

  /** Whether one more task could be offered to it besides what is offered already. */
  #hasRoom(
    ticket: Ticket,
    offered: ReadonlyMap<Ticket, { readonly count: number }>,
    toWorkers: ReadonlyMap<string, number>,
  ): boolean {
    const toWorker = toWorkers.get(ticket.worker.id) ?? 0;
    const toTicket = offered.get(ticket)?.count ?? 0;
    return toTicket < ticket.max && toWorker < this.#freeFor(ticket);
  }

  /** What the worker may be given, less what its other claims under way may bring it. */
  #freeFor(ticket: Ticket): number {
    const room = ticket.room();
    let free = room;
    for (const claim of this.#claimsOf(ticket.worker)) free -= claim.max;
    if (room > 0 && free <= 0) this.#blocked.add(ticket);
    return free;
  }

  #claimsOf(worker: WorkerRecord): ClaimUnderWay[] {
    const claims: ClaimUnderWay[] = [];
    for (const [ticket, claim] of this.#claiming) {
      if (ticket.worker.id === worker.id) claims.push(claim);
    }
    return claims;
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
    this.#claiming.set(ticket, { max, maxSuspects });
    this.#count += 1;
    const claim: Claim = {
      worker: worker.id,
      incarnation: worker.incarnation,
      lanes,
      max,
      maxSuspects,
      attemptIds: Array.from({ length: max }, () => this.#random.id()),
      choice,
    };
    return [{ ticket, claim, issued: this.#count }];
  }

  /** A worker holds at most one suspect (S-25), its claims under way included. */
  #suspectsFor(ticket: Ticket): number {
    if (this.#held.suspects(ticket.worker.id) > 0) return 0;
    if (!this.#claimsOf(ticket.worker).some(({ maxSuspects }) => maxSuspects > 0)) return 1;
    this.#blocked.add(ticket);
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
    this.#claiming.delete(ticket);
    this.#blocked.delete(ticket);
    ticket.deliver(tasks);
  }

  /** The tickets that a claim of this worker held back, and that may look again now. */
  unblocked(worker: string): readonly Ticket[] {
    const parked: Ticket[] = [];
    for (const ticket of this.#blocked) {
      if (ticket.worker.id !== worker) continue;
      this.#blocked.delete(ticket);
      if (this.#parked.has(ticket)) parked.push(ticket);
      else if (this.#claiming.has(ticket)) ticket.missed = true;
    }
    return parked;
  }

  /** One lane a client, who was served longest ago first. */
  #lanes(worker: WorkerRecord, fresh: readonly TaskClass[]): string[][] {
    const byClient = new Map<string, Set<string>>();
    const consider = (taskClass: TaskClass): void => {
      if (!this.#fitsWorker(taskClass, worker)) return;
      const lane = byClient.get(taskClass.client) ?? new Set<string>();
      byClient.set(taskClass.client, lane.add(taskClass.key));
    };
    for (const { taskClass } of this.#classes.values()) consider(taskClass);
    for (const taskClass of fresh) consider(taskClass);
    if (byClient.size === 1) return [...byClient.values()].map((lane) => [...lane]);
    const turn = (client: string): number => this.#served.get(client) ?? 0;
    return [...byClient].sort(([a], [b]) => turn(a) - turn(b)).map(([, lane]) => [...lane]);
  }

  #fitsWorker(taskClass: TaskClass, worker: WorkerRecord): boolean {
    const fits = this.#fits.get(worker.id) ?? new Map<string, boolean>();
    this.#fits.set(worker.id, fits);
    let fit = fits.get(taskClass.key);
    if (fit === undefined) {
      if (fits.size >= maxJudgements) fits.clear();
      fit = misfit(taskClass, worker.offer) === null;
      fits.set(taskClass.key, fit);
    }
    return fit;
  }
}

/** A task that a commit queues. */
export interface Wake {
  readonly taskClass: TaskClass;
  readonly strategy: StrategyName;
}

/** The tasks that the change queues at once. */
export function wakesOf(change: Change, task: Task | null): Wake[] {
  if (change.job.held) return [];
  const wakes = (change.also?.children ?? []).flatMap((child) => wakesOf(child, null));
  for (const item of change.tasks) {
    if (item.type !== 'start' && item.type !== 'requeue') continue;
    if (item.timers.some(({ name }) => name === 'ready')) continue;
    const spec = item.type === 'start' ? item.spec : task?.spec;
    if (spec !== undefined) wakes.push({ taskClass: taskClass(spec), strategy: spec.strategy });
  }
  return wakes;
}

interface Candidacy extends Candidate {
  readonly ticket: Ticket;
}
