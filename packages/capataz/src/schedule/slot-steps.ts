import type { CatchUp, DueSlots } from './catch-up.ts';
import { maxLooked, type Plan } from './plan.ts';

/** What is done about one slot, or about several in a row that are left out for the same reason. */
export interface SlotStep {
  readonly first: number;
  readonly last: number;
  readonly action: 'start' | 'blackout' | 'missed';
  /** Why slots are left out. */
  readonly reason: string | null;
}

/** In the order of the slots, so that after each of them everything up to it is dealt with. */
export function slotSteps(
  plan: Plan,
  handled: number,
  { due, blackedOut, passed }: DueSlots,
  { policy, limit }: CatchUp,
): SlotStep[] {
  const looked = passed?.last ?? handled;
  const rule = policy === 'all' ? `catch_up_limit = ${limit}` : `catch_up = "${policy}"`;
  const steps: SlotStep[] = [
    ...(passed === null ? [] : [{ ...passed, action: 'missed' as const, reason: rule }]),
    ...due.map(({ slot }) => ({ first: slot, last: slot, action: 'start' as const, reason: null })),
    ...blackedOut.map(({ slot, closed, blackout }) => {
      const before = Math.max(looked, (closed?.start ?? slot) - 1);
      const first = plan.slots.next(before) ?? slot;
      return { first, last: slot, action: 'blackout' as const, reason: blackout };
    }),
  ];
  return steps.sort((a, b) => a.last - b.last);
}

/** How many slots a step is about, counted up to 1,000. */
export function slotsIn(plan: Plan, { first, last }: Pick<SlotStep, 'first' | 'last'>): number {
  let count = 0;
  for (const _ of plan.between(first - 1, last)) {
    count += 1;
    if (count === maxLooked) break;
  }
  return count;
}
