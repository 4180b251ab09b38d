import type { Agent } from '../domain/machine.ts';
import type { Tier } from '../models/contract.ts';

/** Some spellings that count once together, and how much. */
export interface Keyword {
  readonly pattern: RegExp;
  readonly weight: number;
}

export interface RoutingRules {
  /** In the order in which ties are broken. */
  readonly skills: ReadonlyMap<string, readonly Keyword[]>;
  readonly defaultSkill: string;
  readonly least: number;
  readonly simple: {
    readonly keywords: readonly Keyword[];
    readonly shorterThan: { readonly characters: number; readonly weight: number };
  };
  readonly complex: {
    readonly keywords: readonly Keyword[];
    readonly longerThan: { readonly characters: number; readonly weight: number };
    readonly moreWordsThan: { readonly words: number; readonly weight: number };
  };
  /** Where neither side is ahead. */
  readonly defaultTier: Tier;
}

/** Whole words in any case; `*` at the end of a spelling stands for any ending (S-80). */
export function keyword(spellings: string, weight: number): Keyword {
  const alternatives = spellings.split('|').map((spelling) => {
    const isOpen = spelling.endsWith('*');
    const parts = (isOpen ? spelling.slice(0, -1) : spelling).trim().split(/\s+/);
    return `${parts.map((part) => RegExp.escape(part)).join('\\s+')}${isOpen ? '[\\p{L}\\p{N}_]*' : ''}`;
  });
  const inWord = '[\\p{L}\\p{N}_]';
  const pattern = new RegExp(`(?<!${inWord})(?:${alternatives.join('|')})(?!${inWord})`, 'iu');
  return { pattern, weight };
}

/** By the words of the description alone: the same description always gets the same agent. */
export function route(description: string, rules: RoutingRules): Agent {
  return { skill: skillOf(description, rules), model: tierOf(description, rules) };
}

function skillOf(description: string, { skills, defaultSkill }: RoutingRules): string {
  let best = { skill: defaultSkill, score: 0 };
  for (const [skill, keywords] of skills) {
    const score = scoreOf(description, keywords);
    if (score > best.score) best = { skill, score };
  }
  return best.skill;
}

function tierOf(description: string, rules: RoutingRules): Tier {
  const { simple, complex, least, defaultTier } = rules;
  const characters = [...description].length;
  const words = description.split(/\s+/).filter((word) => word !== '').length;
  const { shorterThan } = simple;
  const { longerThan, moreWordsThan } = complex;
  const simpleScore =
    scoreOf(description, simple.keywords) +
    (characters < shorterThan.characters ? shorterThan.weight : 0);
  const complexScore =
    scoreOf(description, complex.keywords) +
    (characters > longerThan.characters ? longerThan.weight : 0) +
    (words > moreWordsThan.words ? moreWordsThan.weight : 0);
  if (simpleScore > complexScore && simpleScore >= least) return 'Haiku';
  if (complexScore > simpleScore && complexScore >= least) return 'Opus';
  return defaultTier;
}

function scoreOf(description: string, keywords: readonly Keyword[]): number {
  return keywords.reduce(
    (sum, { pattern, weight }) => sum + (pattern.test(description) ? weight : 0),
    0,
  );
}
