import { createHash } from 'node:crypto';
import type { Blackout } from './blackout.ts';
import type { Slots } from './slots.ts';

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
}

/** A blackout of years over a schedule of seconds is not walked through. */
export const maxLooked = 10_000;

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
    let moved: string | null = null;
    for (let moves = 0; moves < maxMoves; moves += 1) {
      const closed = this.#closedAt(startsAt);
      if (closed === null) return { slot, startsAt, blackout: moved };
      moved = closed.name;
      // Of all that a blackout holds up only the last one begins at its end: the others would all
      // begin with it.
      if (inBlackout === 'skip' || next <= closed.end) break;
      startsAt = closed.end + this.#jitter(slot, next - closed.end);
    }
    return { slot, startsAt: null, blackout: moved };
  }

  /** Slots behind `after` up to `until`, with what is to be done about each. */
  *between(after: number, until: number): Generator<PlannedSlot> {
    for (const slot of this.slots.between(after, until)) yield this.of(slot);
  }

  /**
   * The first start of a slot behind an instant. Where none of the next 10,000 starts, the slot at
   * which to look again.
   */
  nextStart(after: number): number | null {
    let slot = this.slots.next(after);
    for (let looked = 0; slot !== null && looked < maxLooked; looked += 1) {
      const { startsAt } = this.of(slot);
      if (startsAt !== null) return startsAt;
      slot = this.slots.next(slot);
    }
    return slot;
  }

  #closedAt(instant: number): { readonly name: string; readonly end: number } | null {
    for (const { name, at } of this.#options.blackouts) {
      const window = at(instant);
      if (window !== null) return { name, end: window.end };
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
