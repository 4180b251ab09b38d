import { z } from 'zod';
import type { Agent } from '../domain/machine.ts';
import type { Tier } from '../models/contract.ts';
import { jsonIn } from '../output/check.ts';
import type { JobRecord } from './record.ts';

const tierOfComplexity = {
  simple: 'Haiku',
  medium: 'Sonnet',
  complex: 'Opus',
} as const satisfies Record<string, Tier>;

const answer = z.object({
  skill: z.string(),
  complexity: z.enum(['simple', 'medium', 'complex']),
});

type Classification = NonNullable<JobRecord['classification']>;

export const unclassified: Classification = { skill: null, tier: null };

/** What the model said, where it names a skill that there is; whatever else it said counts for nothing. */
export function classificationIn(text: string, skills: Iterable<string>): Classification {
  const said = answer.safeParse(jsonIn(text));
  if (!said.success || ![...skills].includes(said.data.skill)) return unclassified;
  return { skill: said.data.skill, tier: tierOfComplexity[said.data.complexity] };
}

/** The words of the description decide where the model did not. */
export function classified(byWords: Agent, classification: Classification | null): Agent {
  return {
    skill: classification?.skill ?? byWords.skill,
    model: classification?.tier ?? byWords.model,
  };
}
