import type { Clock } from '../std/clock.ts';

interface Stay<State> {
  readonly state: State;
  /** Steady clock; null: its beginning was not seen here. */
  readonly since: number | null;
  /** Whose it is: a job's correlation id. */
  readonly link: string;
}

/** How long things stay in their states, as far as this process has seen both ends. */
export class Stays<State extends string> {
  readonly #clock: Clock;
  readonly #observe: (state: State, seconds: number, link: string) => void;
  readonly #maxKept: number;
  readonly #stays = new Map<string, Stay<State>>();

  /** @param maxKept those beyond it are not measured, so that memory stays bounded */
  constructor(
    clock: Clock,
    observe: (state: State, seconds: number, link: string) => void,
    maxKept: number = 100_000,
  ) {
    this.#clock = clock;
    this.#observe = observe;
    this.#maxKept = maxKept;
  }

  stateOf(id: string): State | undefined {
    return this.#stays.get(id)?.state;
  }

  /** It came into being in this state. */
  begin(id: string, state: State, link = ''): void {
    this.#keep(id, { state, since: this.#clock.steady(), link });
  }

  /** It is in this state now; nothing happens where it was so before. Who is new has no link. */
  enter(id: string, state: State): void {
    const before = this.#stays.get(id);
    if (before?.state === state) return;
    this.#finish(before);
    const since = before === undefined ? null : this.#clock.steady();
    this.#keep(id, { state, since, link: before?.link ?? '' });
  }

  end(id: string): void {
    this.#finish(this.#stays.get(id));
    this.#stays.delete(id);
  }

  #keep(id: string, stay: Stay<State>): void {
    if (this.#stays.has(id) || this.#stays.size < this.#maxKept) this.#stays.set(id, stay);
  }

  #finish(stay: Stay<State> | undefined): void {
    if (stay === undefined || stay.since === null) return;
    const seconds = Math.max(0, this.#clock.steady() - stay.since) / 1_000;
    this.#observe(stay.state, seconds, stay.link);
  }
}
