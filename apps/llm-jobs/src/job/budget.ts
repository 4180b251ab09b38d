import { type Action, approval, transition } from 'capataz';
import { failureOf } from '../domain/failure.ts';
import { type Tier, tiers } from '../models/contract.ts';
import { usdText } from '../models/money.ts';
import { advance, type JobState } from './advance.ts';
import { unclassified } from './classification.ts';
import { withTier } from './fallback.ts';
import { partsIn } from './parts.ts';
import { spentOf } from './plan.ts';
import { type CallRow, type JobRecord, type LlmJob, openCall, recordOf, save } from './record.ts';
import type { JobRules } from './rules.ts';

/** A budget can't give what the next call may cost, so that its row is taken back: it is not sent. */
export function overBudget(job: LlmJob, rules: JobRules): Action<JobState> {
  if (job.answer?.name === 'rejected')
    return giveUp(job, recordOf(job), 'a person has refused to go beyond the budget');
  const planned = recordOf(job);
  const row = openCall(planned);
  const record = { ...planned, calls: planned.calls.slice(0, -1) };
  if (row.purpose === 'classify') {
    save(job, { ...record, classification: unclassified });
    return transition('DefineAgent');
  }
  const why = reasonOf(row, record);
  switch (rules.budgets.then) {
    case 'fail':
      return giveUp(job, record, why);
    case 'cheaper': {
      const tier = cheaperThan(record);
      if (tier === null) return giveUp(job, record, `${why}, and there is no cheaper tier`);
      save(job, withTier(record, { tier, step: 0 }, rules.catalog));
      return transition('Process');
    }
    case 'pause':
      save(job, record);
      return approval({
        message: `Go beyond the budget? ${why}.`,
        show: {
          description: partsIn(job.stores).redact(record.description),
          model: `${row.provider}/${row.model}`,
          most_usd: row.most_nano_usd === null ? null : usdText(row.most_nano_usd),
          spent_usd: usdText(spentOf(record)),
        },
        on: { approved: 'Process', rejected: 'Budget' },
      });
  }
}

function reasonOf({ provider, model, most_nano_usd: most }: CallRow, record: JobRecord): string {
  if (most === null)
    return `the price of ${provider}/${model} is not known, so that no budget can take it`;
  return `the budget has no ${usdText(most)} USD left, which call ${record.calls.length + 1} may cost`;
}

function giveUp(job: LlmJob, record: JobRecord, why: string): Action<JobState> {
  return advance(
    job,
    record,
    { type: 'failure', ...failureOf('permanent', why) },
    { now: job.now },
  );
}

function cheaperThan({ chain }: JobRecord): Tier | null {
  return tiers[tiers.indexOf(chain?.tier ?? 'Haiku') - 1] ?? null;
}
