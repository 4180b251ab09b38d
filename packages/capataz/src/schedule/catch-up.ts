import { maxLooked, type Plan, type PlannedSlot } from './plan.ts';

/** Which slots run that were missed: none, the last one, or all of them. */
export const catchUpPolicies = ['skip', 'last', 'all'] as const;
export type CatchUpPolicy = (typeof catchUpPolicies)[number];

export interface CatchUp {
  readonly policy: CatchUpPolicy;
  /** For `all`: at most this many, the latest. */
  readonly limit: number;
  /** How late a slot may begin and be no missed one yet, in ms. */
  readonly toleranceMs: number;
}

/** What is remembered of a schedule; instants in ms since 1970 UTC. */
export interface ScheduleState {
  /** The last slot that was dealt with, or when the schedule was first seen. */
  readonly handled: number;
  /** When the last pause ended: what should have begun before was missed, however short ago. */
  readonly resumedAt: number | null;
}

export interface DueSlots {
  /** To be started now, ascending. */
  readonly due: readonly PlannedSlot[];
  /** The last slot that each blackout has left out. */
  readonly blackedOut: readonly PlannedSlot[];
  /** Missed slots that don't run. */
  readonly passed: { readonly first: number; readonly last: number } | null;
  /** When to ask again: the next start. */
  readonly nextAt: number | null;
}

/** What is to be done at `now`; what was done is remembered as `handled`. */
export function dueSlots(
  plan: Plan,
  state: ScheduleState,
  now: number,
  catchUp: CatchUp,
): DueSlots {
  let nextAt = plan.nextStart(now);
  const after = state.handled;
  const resumedAt = state.resumedAt ?? Number.NEGATIVE_INFINITY;
  const due: PlannedSlot[] = [];
  const blackedOut: PlannedSlot[] = [];
  let missed = 0;
  let slot = plan.slots.previous(now + 1);
  for (
    let looked = 0;
    slot !== null && slot > after && looked < maxLooked + catchUp.limit;
    looked += 1
  ) {
    const planned = plan.of(slot);
    const { startsAt, closed } = planned;
    if (startsAt === null) blackedOut.push(planned);
    else if (startsAt > now) nextAt = startsAt;
    else {
      const isMissed = now - startsAt > catchUp.toleranceMs || startsAt <= resumedAt;
      if (isMissed && missed >= roomFor(catchUp, due.length - missed)) break;
      if (isMissed) missed += 1;
      due.push(planned);
    }
    slot = plan.slots.previous(closed === null ? slot : Math.min(slot, closed.start));
  }
  const passed = slot === null ? null : passedUpTo(slot, after, plan);
  return { due: due.reverse(), blackedOut: blackedOut.reverse(), passed, nextAt };
}

/** What lies behind `after` up to the slot at which the look back has ended. */
function passedUpTo(last: number, after: number, { slots }: Plan): DueSlots['passed'] {
  const first = slots.next(after);
  return first === null || first > last ? null : { first, last };
}

/** A slot that is on time makes up for those before it, where only the last one counts. */
function roomFor({ policy, limit }: CatchUp, onTime: number): number {
  switch (policy) {
    case 'skip':
      return 0;
    case 'last':
      return onTime > 0 ? 0 : 1;
    case 'all':
      return limit;
  }
}
