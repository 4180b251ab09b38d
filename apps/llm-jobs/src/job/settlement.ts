import { type Blueprint, blueprint, finish, holding } from 'capataz';
import type { Client, JobView } from 'capataz/client';
import { z } from 'zod';
import { budgetKept } from './plan.ts';
import { jobRecord } from './record.ts';
import { mayBeSent } from './view.ts';

const settlementName = 'llm-settlement';
const settlement = z.strictObject({
  shares: z.array(z.strictObject({ key: z.string(), amount: z.number() })),
});

/**
 * What the engine ends itself runs no handler any more, and gives back what the job has reserved. A call
 * that was on its way then may have cost that much all the same (S-82): it is taken again, for good.
 */
export function settlementBlueprint(): Blueprint {
  return blueprint({
    name: settlementName,
    version: 1,
    input: settlement,
    states: {
      Settle: {
        start: true,
        end: true,
        handle: ({ input: { shares } }) =>
          holding(finish(), {
            // Spent is spent, whatever the limit.
            reserve: shares.map((share) => ({
              ...share,
              limit: Number.MAX_SAFE_INTEGER,
              expiresAfter: budgetKept,
            })),
            settle: shares,
          }),
      },
    },
  });
}

/** Once for a job that was ended during a call, however often it is asked for. */
export async function settleInterrupted(client: Client, view: JobView): Promise<void> {
  const stored = jobRecord.safeParse(view.data);
  const last = stored.data?.calls.at(-1);
  if (last?.outcome !== 'open' || !mayBeSent(view) || last.budgets.length === 0) return;
  await client.jobs.start(
    settlementName,
    { shares: last.budgets },
    { idempotencyKey: `llm-settlement:${view.id}` },
  );
}
