import type { TaskClass } from '../core/requirements.ts';
import type { Choice } from '../core/strategy.ts';
import type { Parked } from './parked.ts';
import type { Ticket } from './ticket.ts';

export interface Offered {
  readonly count: number;
  readonly choice: Choice;
}

/** What one match has offered so far, and where it goes on looking: room only shrinks meanwhile. */
export class Offers {
  readonly offered = new Map<Ticket, Offered>();
  readonly #parked: Parked;
  readonly #freeFor: (ticket: Ticket) => number;
  readonly #toWorkers = new Map<string, number>();
  readonly #groups = new Map<string, readonly Group[]>();
  readonly #byTickets = new Map<ReadonlySet<Ticket>, Group>();

  constructor(parked: Parked, freeFor: (ticket: Ticket) => number) {
    this.#parked = parked;
    this.#freeFor = freeFor;
  }

  /** Of each group of equals that fits: how many there are, and the first with room. */
  groups(taskClass: TaskClass): readonly Group[] {
    const known = this.#groups.get(taskClass.key);
    if (known !== undefined) return known;
    const groups = this.#parked.fitting(taskClass).map((tickets) => this.#group(tickets));
    this.#groups.set(taskClass.key, groups);
    return groups;
  }

  /** Several classes may fit one group: each of them goes on where another has stopped. */
  #group(tickets: ReadonlySet<Ticket>): Group {
    const group = this.#byTickets.get(tickets) ?? new Group(tickets, this);
    this.#byTickets.set(tickets, group);
    return group;
  }

  countOf(ticket: Ticket): number {
    return this.offered.get(ticket)?.count ?? 0;
  }

  /** Whether one more task could be offered to it besides what is offered already. */
  hasRoom(ticket: Ticket): boolean {
    const toWorker = this.#toWorkers.get(ticket.worker.id) ?? 0;
    return this.countOf(ticket) < ticket.max && toWorker < this.#freeFor(ticket);
  }

  add(ticket: Ticket, choice: Choice): void {
    const { id } = ticket.worker;
    this.#toWorkers.set(id, (this.#toWorkers.get(id) ?? 0) + 1);
    this.offered.set(ticket, { count: this.countOf(ticket) + 1, choice });
  }
}

class Group {
  readonly size: number;
  readonly #offers: Offers;
  readonly #rest: Iterator<Ticket>;
  #first: Ticket | null;

  constructor(tickets: ReadonlySet<Ticket>, offers: Offers) {
    this.size = tickets.size;
    this.#offers = offers;
    this.#rest = tickets.values();
    this.#first = this.#next();
  }

  firstWithRoom(): Ticket | null {
    while (this.#first !== null && !this.#offers.hasRoom(this.#first)) this.#first = this.#next();
    return this.#first;
  }

  #next(): Ticket | null {
    const { done, value } = this.#rest.next();
    return done === true ? null : value;
  }
}
