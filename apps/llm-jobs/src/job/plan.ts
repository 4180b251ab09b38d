import { type Action, holding, transition } from 'capataz';
import { priceOf, type Step } from '../models/catalog.ts';
import { highestCost, mostInputTokens } from '../models/estimate.ts';
import type { JobState } from './advance.ts';
import { promptFor } from './prompt.ts';
import { type CallRow, type JobRecord, type LlmJob, save } from './record.ts';
import type { JobRules } from './rules.ts';

/** What stands before each call: a row in the books, a part of the budgets, a place among the calls. */

type Budget = CallRow['budgets'][number] & { readonly limit: number };

/** Budgets of a month are known by its name, and forgotten some time after it. */
export const budgetKept = '40d';

/**
 * Writes the row of the next call and takes its highest cost from the budgets, in one commit; the
 * call is made by a later one. Whatever a budget can't give leads to `Budget`.
 */
export function planCall(
  job: LlmJob,
  record: JobRecord,
  purpose: CallRow['purpose'],
  rules: JobRules,
): Action<JobState> {
  const { row, budgets } = rowFor(job, record, purpose, rules);
  save(job, { ...record, calls: [...record.calls, row] });
  if (budgets === null) return transition('Budget');
  return holding(transition('Admission'), {
    reserve: budgets.map((budget) => ({ ...budget, expiresAfter: budgetKept })),
    onLimit: { to: 'Budget' },
  });
}

function rowFor(
  job: LlmJob,
  record: JobRecord,
  purpose: CallRow['purpose'],
  rules: JobRules,
): { readonly row: CallRow; readonly budgets: readonly Budget[] | null } {
  const { tier, provider, model } = stepOf(record, purpose, rules);
  const prompt = promptFor(purpose, record, rules);
  const most = highestCost(prompt, priceOf(rules.catalog, { provider, model }));
  const budgets = budgetsOf(job, record, most, rules);
  const row: CallRow = {
    request_id: `${job.id}-${record.calls.length + 1}`,
    purpose,
    tier,
    provider,
    model,
    planned_at: new Date(job.now).toISOString(),
    ended_at: null,
    outcome: 'open',
    reason: null,
    message: null,
    usage: null,
    cost_nano_usd: null,
    is_stub: false,
    provider_request_id: null,
    most_nano_usd: most,
    most_tokens: mostInputTokens(prompt) + prompt.maxTokens,
    budgets: (budgets ?? []).map(({ key, amount }) => ({ key, amount })),
  };
  return { row, budgets };
}

/** Classification is the cheapest tier's. */
function stepOf({ chain }: JobRecord, purpose: CallRow['purpose'], { catalog }: JobRules): Step {
  if (purpose === 'classify') return catalog.tiers.Haiku.chain[0];
  if (chain === null) throw new Error('no agent is defined');
  const { chain: steps } = catalog.tiers[chain.tier];
  return steps[chain.step] ?? steps[0];
}

/** @returns null where the job's own budget, or one without a known price, can't give it. */
function budgetsOf(
  job: LlmJob,
  record: JobRecord,
  most: number | null,
  { budgets }: JobRules,
): readonly Budget[] | null {
  const month = new Date(job.now).toISOString().slice(0, 7);
  const limited = [
    ...(budgets.client === null
      ? []
      : [{ key: `llm-budget:client:${job.client.name}:${month}`, limit: budgets.client }]),
    ...(budgets.month === null ? [] : [{ key: `llm-budget:month:${month}`, limit: budgets.month }]),
  ];
  const isFree = record.over_budget;
  if (most === null) {
    const isLimited = limited.length > 0 || budgets.job !== null;
    return isLimited && !isFree ? null : [];
  }
  if (!isFree && budgets.job !== null && spentOf(record) + most > budgets.job) return null;
  if (!isFree && limited.some(({ limit }) => most > limit)) return null;
  return limited.map(({ key, limit }) => ({
    key,
    amount: most,
    limit: isFree ? Number.MAX_SAFE_INTEGER : limit,
  }));
}

/** What all calls so far have cost, at most. */
export function spentOf({ calls }: JobRecord): number {
  return calls.reduce((sum, call) => sum + (call.cost_nano_usd ?? call.most_nano_usd ?? 0), 0);
}

/** A place among the provider's calls, and its rates, which all servers on the store share. */
export function admitCall(row: CallRow, { rates }: JobRules): Action<JobState> {
  const { requests, tokens, calls } = rateKeys(row.provider);
  const reserve = [
    { key: requests, amount: 1, limit: rates.requestsPerMinute, expiresAfter: '60s' },
    {
      key: tokens,
      // One that is larger than the rate has a minute to itself.
      amount: Math.min(row.most_tokens, rates.tokensPerMinute),
      limit: rates.tokensPerMinute,
      expiresAfter: '60s',
    },
    { key: calls, amount: 1, limit: rates.calls },
  ];
  return holding(transition('Call'), { reserve: reserve.filter(({ limit }) => limit > 0) });
}

/**
 * The action that tells how a call ended, which also gives back what the call did not use. What is
 * unknown counts as the most that it could have been (S-82).
 */
export function settled(action: Action<JobState>, row: CallRow, rules: JobRules): Action<JobState> {
  const { requests, tokens, calls } = rateKeys(row.provider);
  const used = row.usage === null ? [null] : Object.values(row.usage);
  const usedTokens = used.reduce<number | null>(
    (sum, count) => (sum === null || count === null ? null : sum + count),
    0,
  );
  const { requestsPerMinute, tokensPerMinute } = rules.rates;
  return holding(action, {
    settle: [
      ...row.budgets.map(({ key, amount }) => ({ key, amount: row.cost_nano_usd ?? amount })),
      ...(requestsPerMinute > 0 ? [{ key: requests, amount: 1 }] : []),
      ...(tokensPerMinute > 0
        ? [{ key: tokens, amount: Math.min(usedTokens ?? row.most_tokens, tokensPerMinute) }]
        : []),
    ],
    release: [calls],
  });
}

function rateKeys(provider: string) {
  return {
    requests: `llm-requests:${provider}`,
    tokens: `llm-tokens:${provider}`,
    calls: `llm-calls:${provider}`,
  };
}
