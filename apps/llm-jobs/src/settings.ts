import { CapatazError } from 'capataz';
import type { SettingDeclarations, SettingValues } from 'capataz/server';
import { defaultRetryConfig, mostBaseDelayMs, mostRetries } from './domain/retry.ts';
import { tierNamed } from './job/input.ts';
import { type JobRules, overBudgetChoices } from './job/rules.ts';
import { loadCatalog } from './models/catalog.ts';
import { type NanoUsd, nanoUsd } from './models/money.ts';
import { route } from './routing/route.ts';
import { loadSkills } from './routing/skills.ts';

/** In `llm-jobs.toml`, as `CAPATAZ_LLM_…` or as flags. The first four are the seed's. */
export const settings = {
  apiKey: {
    type: 'string',
    default: '',
    secret: true,
    canBeEmpty: true,
    aliases: [{ name: 'ANTHROPIC_API_KEY' }],
    meaning:
      "Anthropic's key; those of other providers are in the environment, under the names that the models file gives them. Without any key no model is asked, and every record says so.",
  },
  defaultModelTier: {
    type: 'choice',
    default: 'sonnet',
    choices: ['haiku', 'sonnet', 'opus'],
    meaning: 'Tier of jobs that are neither simple nor complex.',
  },
  maxRetries: {
    type: 'integer',
    default: defaultRetryConfig.max_retries,
    range: [0, mostRetries],
    meaning: 'Calls of a job after the first one that failed. A job may say otherwise.',
  },
  baseDelayMs: {
    type: 'integer',
    default: defaultRetryConfig.base_delay_ms,
    range: [0, mostBaseDelayMs],
    meaning: 'Wait before the first retry, in ms; each further one is twice as long.',
  },
  maxDelay: {
    type: 'duration',
    default: '60s',
    canBeOff: true,
    meaning: 'No wait of that kind is longer.',
  },
  jitterPercent: {
    type: 'integer',
    default: 0,
    range: [0, 50],
    meaning: 'Moves each wait by at most this part of it, so that jobs do not come back together.',
  },
  maxRetryAfter: {
    type: 'duration',
    default: '1h',
    meaning:
      'Longest wait that a provider may ask for; if it asks for more the job fails. Up to it, its wish goes before `max_delay`.',
  },
  connectTimeout: {
    type: 'duration',
    default: '10s',
    range: [1, 600_000],
    meaning: 'Longest time until a provider is connected.',
  },
  totalTimeout: {
    type: 'duration',
    default: '120s',
    range: [1, 3_600_000],
    meaning: 'Longest time of a call, to the last token of its answer.',
  },
  models: {
    type: 'path',
    default: 'models.toml',
    meaning:
      'File of providers, models of the tiers and prices, laid over the one that is shipped.',
  },
  skills: {
    type: 'path',
    default: 'skills.toml',
    meaning: 'File of skills and routing words, laid over the one that is shipped.',
  },
  redactions: {
    type: 'path',
    default: 'redactions.txt',
    meaning:
      'File with a regular expression a line: what matches is taken out of records, besides common forms of keys and passwords.',
  },
  classify: {
    type: 'boolean',
    default: false,
    meaning:
      'Ask the cheapest model which skill and tier a job needs; where it does not say, the words of the description decide.',
  },
  budgetJobUsd: {
    type: 'number',
    default: null,
    range: [0, 1_000_000],
    meaning: 'Most that the calls of one job may cost, in USD. Default no limit.',
  },
  budgetClientUsd: {
    type: 'number',
    default: null,
    range: [0, 1_000_000],
    meaning: 'Most that the calls of each client may cost in a month (UTC). Default no limit.',
  },
  budgetMonthUsd: {
    type: 'number',
    default: null,
    range: [0, 1_000_000],
    meaning: 'Most that all calls may cost in a month (UTC). Default no limit.',
  },
  overBudget: {
    type: 'choice',
    default: 'pause',
    choices: overBudgetChoices,
    meaning:
      'What a job does whose next call a budget can not take: wait until a person approves it (`approvals approve`), go on with the next `cheaper` tier, or `fail`.',
  },
  concurrency: {
    type: 'integer',
    default: 8,
    range: [0, 10_000],
    meaning: 'Calls of one provider at once, over all servers on a store. 0: no limit.',
  },
  requestsPerMinute: {
    type: 'integer',
    default: 0,
    range: [0, 1_000_000],
    meaning: 'Calls of one provider within a minute, over all servers on a store. 0: no limit.',
  },
  tokensPerMinute: {
    type: 'integer',
    default: 0,
    range: [0, 1_000_000_000],
    meaning:
      'Tokens of one provider within a minute, over all servers on a store; a call counts as the most that it may use until it is known better. 0: no limit.',
  },
} as const satisfies SettingDeclarations;

export type LlmSettings = SettingValues<typeof settings>;

/** Beyond the call itself: the command that checks its answer, and the books. */
const aroundCallMs = 11 * 60_000;

/** @throws CapatazError CONFIG_INVALID with everything that is wrong */
export function jobRules(values: LlmSettings): JobRules {
  const { skills, routing } = loadSkills(
    values.skills,
    tierNamed(values.defaultModelTier) ?? 'Sonnet',
  );
  return {
    retry: { max_retries: values.maxRetries, base_delay_ms: values.baseDelayMs },
    backoff: { capMs: values.maxDelay, jitter: values.jitterPercent / 100 },
    maxRetryAfterMs: values.maxRetryAfter,
    callTimeoutMs: values.totalTimeout + aroundCallMs,
    catalog: catalogOf(values),
    route: (description) => route(description, routing),
    skills,
    classifies: values.classify,
    budgets: budgetsOf(values),
    rates: {
      calls: values.concurrency,
      requestsPerMinute: values.requestsPerMinute,
      tokensPerMinute: values.tokensPerMinute,
    },
  };
}

export function catalogOf({ models }: Pick<LlmSettings, 'models'>) {
  return loadCatalog(models ?? undefined);
}

function budgetsOf(values: LlmSettings): JobRules['budgets'] {
  const problems: string[] = [];
  const amount = (field: string, usd: number | null): NanoUsd | null => {
    if (usd === null) return null;
    try {
      return nanoUsd(usd);
    } catch (error) {
      problems.push(`${field}: ${error instanceof Error ? error.message : error}`);
      return null;
    }
  };
  const budgets = {
    job: amount('budget_job_usd', values.budgetJobUsd),
    client: amount('budget_client_usd', values.budgetClientUsd),
    month: amount('budget_month_usd', values.budgetMonthUsd),
    then: values.overBudget,
  };
  if (problems.length > 0)
    throw new CapatazError('CONFIG_INVALID', problems.join('\n'), { problems });
  return budgets;
}
