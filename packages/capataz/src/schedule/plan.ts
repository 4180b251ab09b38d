import { createHash } from 'node:crypto';
import type { Blackout, Window } from './blackout.ts';
import { horizonMs, type Slots } from './slots.ts';

/** What becomes of a slot in a blackout: it is left out, or begins when the blackout is over. */
export type InBlackout = 'skip' | 'postpone';

export interface PlanOptions {
  /** The schedule's: it spreads the jitter. */
  readonly name: string;
  readonly slots: Slots;
  readonly jitterMs: number;
  readonly blackouts: readonly Blackout[];
  readonly inBlackout: InBlackout;
}

/** What is to be done about a slot. */
export interface PlannedSlot {
  /** The slot as the rule has it: its name for ever, whenever it begins. */
  readonly slot: number;
  /** When its job starts; null: never. */
  readonly startsAt: number | null;
  /** The blackout that it was moved out of, or that it is left out for. */
  readonly blackout: string | null;
  /** For one that is left out: no other slot between it and the start of this begins, either. */
  readonly closed: Window | null;
}

/** How many slots are looked at, where all those that a blackout leaves out count as one. */
export const maxLooked = 1_000;

/** More blackouts than this in a row never end. */
const maxMoves = 100;

/**
 * Where each slot of a schedule begins. All instances that read the same file find the same, and
 * none of it depends on when they ask.
 */
export class Plan {
  readonly slots: Slots;
  readonly #options: PlanOptions;

  constructor(options: PlanOptions) {
    this.slots = options.slots;
    this.#options = options;
  }

  of(slot: number): PlannedSlot {
    const { inBlackout } = this.#options;
    const next = this.slots.next(slot) ?? Number.POSITIVE_INFINITY;
    let startsAt = slot + this.#jitter(slot, next - slot);
    let blackout: string | null = null;
    let closed: Window | null = null;
    for (let moves = 0; moves < maxMoves; moves += 1) {
      const found = this.#closedAt(startsAt);
      if (found === null) return { slot, startsAt, blackout, closed: null };
      blackout = found.name;
      closed = { start: closed === null ? found.start : closed.start, end: found.end };
      // Of all that a blackout holds up only the last one begins at its end: the others would all
      // begin with it.
      if (inBlackout === 'skip' || next <= found.end) break;
      startsAt = found.end + this.#jitter(slot, next - found.end);
    }
    return { slot, startsAt: null, blackout, closed };
  }

  /** Slots behind `after` up to `until`, with what is to be done about each. */
  *between(after: number, until: number): Generator<PlannedSlot> {
    for (const slot of this.slots.between(after, until)) yield this.of(slot);
  }

  /** The first start of a slot behind an instant; null: none within 41 years or 1,000 blackouts. */
  nextStart(after: number): number | null {
    let slot = this.slots.next(after);
    for (let looked = 0; looked < maxLooked; looked += 1) {
      if (slot === null || slot > after + horizonMs) return null;
      const { startsAt, closed } = this.of(slot);
      if (startsAt !== null) return startsAt;
      slot = this.slots.next(closed === null ? slot : this.#beforeEnd(slot, closed));
    }
    return null;
  }

  /** Behind it lies all that may begin when a blackout ends: the last slot, and late ones. */
  #beforeEnd(slot: number, { end }: Window): number {
    const last = this.slots.previous(end) ?? slot;
    return Math.max(slot, Math.min(last, end - this.#options.jitterMs) - 1);
  }

  #closedAt(instant: number): (Window & { readonly name: string }) | null {
    for (const { name, at } of this.#options.blackouts) {
      const window = at(instant);
      if (window !== null) return { name, ...window };
    }
    return null;
  }

  /** The same for a slot wherever it is asked for; less than `roomMs`, so that the order stays. */
  #jitter(slot: number, roomMs: number): number {
    const { name, jitterMs } = this.#options;
    if (jitterMs === 0) return 0;
    const hash = createHash('sha256').update(`${name}/${slot}`).digest();
    const share = hash.readUInt32BE() / 2 ** 32;
    return Math.floor(share * Math.min(jitterMs, roomMs));
  }
}
