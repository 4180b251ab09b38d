import type { HandlerJob, JsonObject } from 'capataz';
import { z } from 'zod';
import { type Job, jobFields } from '../domain/machine.ts';
import { tiers, type tokenClasses } from '../models/contract.ts';
import type { JobInput } from './input.ts';

export type LlmJob = HandlerJob<JobInput>;

const tokens = z.number().nullable();
const usage = z.strictObject({
  input: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
} satisfies Record<(typeof tokenClasses)[number], typeof tokens>);

/** A part of a limited thing, as the engine keeps it. */
const share = z.strictObject({ key: z.string(), amount: z.number() });

/**
 * One request to a model. The row is stored before the request is sent, with the id under which the
 * provider's meter will know it, and with what was reserved for it (S-78).
 */
export const callRow = z.strictObject({
  request_id: z.string(),
  purpose: z.enum(['answer', 'classify']),
  tier: z.enum(tiers),
  provider: z.string(),
  model: z.string(),
  planned_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  /** `lost`: whoever made it died, and nobody knows what became of it. */
  outcome: z.enum(['open', 'answered', 'failed', 'lost']),
  /** Why it failed: one of the port's reasons, and in words. */
  reason: z.string().nullable(),
  message: z.string().nullable(),
  usage: usage.nullable(),
  /** Null: not known, which is not zero. */
  cost_nano_usd: z.number().nullable(),
  is_stub: z.boolean(),
  provider_request_id: z.string().nullable(),
  /** What it may cost and use at most; null where no price is known. */
  most_nano_usd: z.number().nullable(),
  most_tokens: z.number(),
  /** Taken from budgets for it. */
  budgets: z.array(share),
});
export type CallRow = z.infer<typeof callRow>;

/** Everything that is known of a job; it lies in the `data` of the engine's job. */
export const jobRecord = z.strictObject({
  ...jobFields,
  /** The tier's flat price, whatever really was spent. */
  cost_nano_usd: z.number(),
  calls: z.array(callRow),
  /** Where in which tier's chain of models the next call goes. */
  chain: z.strictObject({ tier: z.enum(tiers), step: z.number() }).nullable(),
  /** What a model said of the job; nulls where it could not say. */
  classification: z
    .strictObject({ skill: z.string().nullable(), tier: z.enum(tiers).nullable() })
    .nullable(),
  /** Of the last answer that was refused: it may be told to the model. */
  refusal: z.string().nullable(),
  next_attempt_at: z.iso.datetime().nullable(),
  /** A person has let it go beyond the budgets. */
  over_budget: z.boolean(),
});
export type JobRecord = z.infer<typeof jobRecord>;

/** As it is before Init has judged it. */
export function newRecord(fresh: Job): JobRecord {
  return {
    ...fresh,
    cost_nano_usd: 0,
    calls: [],
    chain: null,
    classification: null,
    refusal: null,
    next_attempt_at: null,
    over_budget: false,
  };
}

export function recordOf({ data }: { readonly data: JsonObject }): JobRecord {
  return jobRecord.parse(data);
}

export function save({ data }: { readonly data: JsonObject }, record: JobRecord): void {
  Object.assign(data, record);
}

/** The call that was planned last, while nothing is known of it. */
export function openCall({ calls }: JobRecord): CallRow {
  const last = calls.at(-1);
  if (last?.outcome === 'open') return last;
  throw new Error('no call is open');
}

/** The record with another last call. */
export function withLastCall(record: JobRecord, last: CallRow): JobRecord {
  return { ...record, calls: [...record.calls.slice(0, -1), last] };
}
