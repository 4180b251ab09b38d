import type { Agent } from '../domain/machine.ts';
import type { BackoffRules, RetryConfig } from '../domain/retry.ts';
import type { Catalog } from '../models/catalog.ts';
import type { NanoUsd } from '../models/money.ts';
import type { Skill } from '../routing/skills.ts';

/** What becomes of a job for whose next call a budget has not enough left. */
export const overBudgetChoices = ['pause', 'cheaper', 'fail'] as const;
export type OverBudget = (typeof overBudgetChoices)[number];

export interface BudgetRules {
  /** Of one job; of one client in a month; of all in a month. Null: no limit. */
  readonly job: NanoUsd | null;
  readonly client: NanoUsd | null;
  readonly month: NanoUsd | null;
  readonly then: OverBudget;
}

/** Of each provider, over all servers on one store. 0: no limit. */
export interface RateRules {
  readonly calls: number;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
}

/** What the blueprint goes by. It is all plain data and pure functions: handlers decide with it. */
export interface JobRules {
  readonly retry: RetryConfig;
  readonly backoff: BackoffRules;
  /** A provider that asks for a longer wait is not waited for (S-79). */
  readonly maxRetryAfterMs: number;
  /** Longest time of one call and of the check of its answer, after which another server takes over. */
  readonly callTimeoutMs: number;
  readonly catalog: Catalog;
  /** @throws whatever keeps a job from being routed */
  readonly route: (description: string) => Agent;
  readonly skills: ReadonlyMap<string, Skill>;
  /** A model is asked first which skill and tier a job needs. */
  readonly classifies: boolean;
  readonly budgets: BudgetRules;
  readonly rates: RateRules;
}
