import { hostname } from 'node:os';
import type { Clock, Log } from 'capataz/server';
import { giveTurnUp, takeTurn } from './tables/cycles.ts';
import type { Database } from './tables/database.ts';

const leaseMs = 60_000;
/** How often the lease is renewed: a launcher that missed three of them has lost it. */
export const turnEvery = '15s';

/**
 * Of several launchers on the same tables one works and the others stand by (LH-20). Tables in a file need no
 * turn: the data folder they lie in has one holder.
 */
export class Turn {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #owner: string;
  #endsAt: number;
  #isStandingBy = false;

  constructor({ database, clock, log }: { database: Database; clock: Clock; log: Log }) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
    this.#owner = `${hostname()}:${process.pid}`.slice(0, 100);
    this.#endsAt = this.isNeeded ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  get isNeeded(): boolean {
    return this.#database.kind !== 'sqlite';
  }

  readonly isOn = (): boolean => this.#clock.steady() < this.#endsAt;

  async renew(): Promise<void> {
    const before = this.isOn();
    const from = this.#clock.steady();
    const now = this.#clock.now();
    const isOurs = await takeTurn(this.#database.db, { owner: this.#owner, now, forMs: leaseMs });
    this.#endsAt = isOurs ? from + leaseMs : Number.NEGATIVE_INFINITY;
    if (isOurs && !before) this.#log.info('this launcher is on turn');
    if (!isOurs && !this.#isStandingBy)
      this.#log.info('another launcher is on turn: this one stands by');
    this.#isStandingBy = !isOurs;
  }

  async giveUp(): Promise<void> {
    if (this.isNeeded && this.isOn()) await giveTurnUp(this.#database.db, this.#owner);
  }
}
