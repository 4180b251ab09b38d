import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock, Log } from 'capataz/server';
import { giveTurnUp, takeTurn } from './tables/cycles.ts';
import { type Database, databaseNow } from './tables/database.ts';

const leaseMs = 60_000;
/** How often the lease is renewed: a launcher that missed three of them has lost it. */
export const turnEvery = '15s';

export interface TurnParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Its jobs lie in a store that no other launcher has: this one knows nothing of what another has run. */
  readonly hasOwnJobs: boolean;
  /** The turn has come to this launcher: what it knows may be another's of yesterday. */
  readonly onTaken: () => void;
}

/**
 * Of several launchers on the same tables one works and the others stand by (LH-20). Tables in a file need no
 * turn: the data folder they lie in has one holder.
 */
export class Turn {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #owner: string;
  readonly #hasOwnJobs: boolean;
  readonly #onTaken: () => void;
  #endsAt: number;
  #isStandingBy = false;

  constructor({ database, clock, log, hasOwnJobs, onTaken }: TurnParts) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
    this.#hasOwnJobs = hasOwnJobs;
    this.#onTaken = onTaken;
    // In containers hosts may have one name and processes one number.
    this.#owner = `${hostname().slice(0, 50)}:${process.pid}:${randomUUID()}`;
    this.#endsAt = this.isNeeded ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  get isNeeded(): boolean {
    return this.#database.kind !== 'sqlite';
  }

  readonly isOn = (): boolean => this.#clock.steady() < this.#endsAt;

  async renew(): Promise<void> {
    const before = this.isOn();
    const from = this.#clock.steady();
    const { db, kind } = this.#database;
    // Of clocks that go apart each launcher would have its own idea of whose turn it is.
    const now = (await databaseNow(db, kind)) ?? this.#clock.now();
    const isOurs = await takeTurn(db, { owner: this.#owner, now, forMs: leaseMs });
    this.#endsAt = isOurs ? from + leaseMs : Number.NEGATIVE_INFINITY;
    if (isOurs && !before) {
      this.#onTaken();
      this.#log.info('this launcher is on turn');
    }
    if (!isOurs && !this.#isStandingBy) this.#tellStandBy();
    this.#isStandingBy = !isOurs;
  }

  #tellStandBy(): void {
    this.#log.info('another launcher is on turn: this one stands by');
    // A launcher that was killed, and starts again within a minute, is told of itself: no harm.
    if (this.#hasOwnJobs)
      this.#log.error(
        'this launcher has jobs of its own: on its turn it would run again what another has run; give both one store_url (CAPATAZ_STORE_URL)',
      );
  }

  async giveUp(): Promise<void> {
    if (this.isNeeded && this.isOn()) await giveTurnUp(this.#database.db, this.#owner);
  }
}
