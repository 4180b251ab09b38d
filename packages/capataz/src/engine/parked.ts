import type { TaskClass } from '../core/requirements.ts';
import { fitsProfile, type Profile, type Profiles } from './profiles.ts';
import type { Ticket } from './ticket.ts';

/** Tickets that wait, by what their workers offer and by worker: to find one costs the same among 10 and 10,000. */
export class Parked {
  readonly #profiles: Profiles;
  /** Ticket → where it lies. In the order of parking, as are all sets below. */
  readonly #places = new Map<Ticket, Profile>();
  readonly #byProfile = new Map<Profile, Set<Ticket>>();
  readonly #byWorker = new Map<string, Set<Ticket>>();

  constructor(profiles: Profiles) {
    this.#profiles = profiles;
  }

  add(ticket: Ticket): void {
    const profile = this.#profiles.of(ticket.worker.offer);
    this.#places.set(ticket, profile);
    addTo(this.#byProfile, profile, ticket);
    addTo(this.#byWorker, ticket.worker.id, ticket);
  }

  /** @returns whether it was there. */
  delete(ticket: Ticket): boolean {
    const profile = this.#places.get(ticket);
    if (profile === undefined) return false;
    this.#places.delete(ticket);
    deleteFrom(this.#byProfile, profile, ticket);
    deleteFrom(this.#byWorker, ticket.worker.id, ticket);
    return true;
  }

  has(ticket: Ticket): boolean {
    return this.#places.has(ticket);
  }

  get size(): number {
    return this.#places.size;
  }

  of(worker: string): readonly Ticket[] {
    return [...(this.#byWorker.get(worker) ?? [])];
  }

  /** It offers something else than before. */
  refile(worker: string): void {
    for (const ticket of this.of(worker)) if (this.delete(ticket)) this.add(ticket);
  }

  /** Those that fit, in groups of which each member is as good as the others but for its wait. */
  fitting(taskClass: TaskClass): ReadonlySet<Ticket>[] {
    const { worker } = taskClass.requirements;
    if (worker !== undefined) {
      const own = [...(this.#byWorker.get(worker) ?? [])];
      return [new Set(own.filter((ticket) => this.#profiles.fits(taskClass, ticket.worker.offer)))];
    }
    const groups: ReadonlySet<Ticket>[] = [];
    for (const [profile, tickets] of this.#byProfile) {
      if (fitsProfile(taskClass, profile)) groups.push(tickets);
    }
    return groups;
  }
}

function addTo<K>(sets: Map<K, Set<Ticket>>, key: K, ticket: Ticket): void {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set.add(ticket));
}

function deleteFrom<K>(sets: Map<K, Set<Ticket>>, key: K, ticket: Ticket): void {
  const set = sets.get(key);
  set?.delete(ticket);
  if (set?.size === 0) sets.delete(key);
}
