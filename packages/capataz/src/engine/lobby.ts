import type { Task } from '../core/job.ts';
import { misfit, type TaskClass } from '../core/requirements.ts';
import { type Choice, pick, type StrategyName } from '../core/strategy.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type { Random } from '../std/random.ts';
import type { Claim, ClaimOutcome } from '../store/contract.ts';
import type { HeldAttempts } from './attempts.ts';

/** A worker's wish for tasks. */
export interface Ticket {
  readonly worker: WorkerRecord;
  readonly max: number;
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
  readonly #parked = new Set<Ticket>();
  readonly #claiming = new Set<Ticket>();
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
    this.#parked.add(ticket);
  }

  /** @returns whether it was parked: else a claim is under way that will deliver to it. */
  leave(ticket: Ticket): boolean {
    return this.#parked.delete(ticket);
  }

  parkedTickets(): readonly Ticket[] {
    return [...this.#parked];
  }

  /** Something is queued in these classes. Polls whose claim is under way must look again. */
  queued(classes: readonly TaskClass[]): void {
    for (const taskClass of classes) {
      this.#count += 1;
      const known = this.#classes.get(taskClass.key);
      if (known === undefined)
        this.#classes.set(taskClass.key, { taskClass, queuedAt: this.#count });
      else known.queuedAt = this.#count;
      for (const ticket of this.#claiming) {
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
    for (const { taskClass, strategy } of wakes) {
      const candidates: (Ticket & Candidacy)[] = [];
      for (const ticket of own === null ? this.#parked : [own, ...this.#parked]) {
        const load = offered.get(ticket)?.count ?? 0;
        if (load < ticket.max && this.#fitsWorker(taskClass, ticket.worker)) {
          candidates.push({ ...ticket, ticket, offer: ticket.worker.offer, load });
        }
      }
      const best = pick(strategy, taskClass.skill, candidates);
      if (best === null) continue;
      const { ticket } = best.candidate;
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

  /** A claim from the backlog alone; none when nothing that fits is queued. */
  claim(ticket: Ticket): Match[] {
    return this.#claim(ticket, ownChoice, []);
  }

  #claim(ticket: Ticket, choice: Choice, fresh: readonly TaskClass[]): Match[] {
    const lanes = this.#lanes(ticket.worker, fresh);
    if (lanes.length === 0 || ticket.max <= 0) return [];
    this.#parked.delete(ticket);
    this.#claiming.add(ticket);
    this.#count += 1;
    const { worker, max } = ticket;
    const claim: Claim = {
      worker: worker.id,
      incarnation: worker.incarnation,
      lanes,
      max,
      maxSuspects: this.#held.suspects(worker.id) > 0 ? 0 : 1,
      attemptIds: Array.from({ length: max }, () => this.#random.id()),
      choice,
    };
    return [{ ticket, claim, issued: this.#count }];
  }

  /** What the claim brought is taken into account, and delivered. */
  settle({ ticket, issued }: Match, { tasks, drained }: ClaimOutcome): void {
    this.#claiming.delete(ticket);
    for (const key of drained) {
      const known = this.#classes.get(key);
      if (known !== undefined && known.queuedAt < issued) this.#classes.delete(key);
    }
    for (const task of tasks) {
      this.#count += 1;
      this.#served.set(task.spec.client, this.#count);
    }
    ticket.deliver(tasks);
  }

  /** The commit failed: nobody got anything. */
  abandon({ ticket }: Match): void {
    this.#claiming.delete(ticket);
    ticket.deliver([]);
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

interface Candidacy {
  readonly ticket: Ticket;
  readonly offer: WorkerRecord['offer'];
  readonly load: number;
}
