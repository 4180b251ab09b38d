import type { Offer } from './requirements.ts';

/** How one of several waiting workers is picked for a task. */
export const strategyNames = ['default'] as const;
export type StrategyName = (typeof strategyNames)[number];

export interface Candidate {
  readonly offer: Offer;
  /** Attempts that it holds. */
  readonly load: number;
  /** Steady instant since which it has been waiting: the tie rule is who waits longest. */
  readonly waitingSince: number;
}

/** What spoke for a candidate, stored with the assignment so that each choice can be explained. */
export interface Choice {
  readonly strategy: StrategyName;
  readonly candidates: number;
  readonly warm: boolean;
  readonly cost: number | null;
}

/** `default`: warm first (the skill is hot there), then cheapest, then who waits longest. */
export function pick<C extends Candidate>(
  strategy: StrategyName,
  skill: string,
  candidates: readonly C[],
): { readonly candidate: C; readonly choice: Choice } | null {
  let best: C | undefined;
  for (const candidate of candidates) {
    if (best === undefined || compare(skill, candidate, best) < 0) best = candidate;
  }
  if (best === undefined) return null;
  return {
    candidate: best,
    choice: {
      strategy,
      candidates: candidates.length,
      warm: isWarm(skill, best.offer),
      cost: best.offer.costPerSkill[skill] ?? null,
    },
  };
}

/** Whether the strategy would take the one with offer `a`, however long the one with `b` waits. */
export function isBetter(_strategy: StrategyName, skill: string, a: Offer, b: Offer): boolean {
  return compareOffers(skill, a, b) < 0;
}

function compare(skill: string, a: Candidate, b: Candidate): number {
  return compareOffers(skill, a.offer, b.offer) || a.waitingSince - b.waitingSince;
}

function compareOffers(skill: string, a: Offer, b: Offer): number {
  return Number(isWarm(skill, b)) - Number(isWarm(skill, a)) || cost(skill, a) - cost(skill, b);
}

function isWarm(skill: string, offer: Offer): boolean {
  return offer.hotSkills.includes(skill);
}

/** An unknown cost is the dearest, yet still comparable: Infinity − Infinity would be NaN. */
function cost(skill: string, offer: Offer): number {
  return offer.costPerSkill[skill] ?? Number.MAX_VALUE;
}
