import type { JsonObject, JsonValue } from 'capataz';
import { z } from 'zod';
import { type FailureKind, failureKind } from '../domain/failure.ts';
import { agent, jobFields, states } from '../domain/machine.ts';
import type { CallRow, JobRecord } from '../job/record.ts';
import { type TokenClass, tokenClasses } from '../models/contract.ts';
import { usdNumber } from '../models/money.ts';
import type { Redact } from './redaction.ts';

const nullableNumber = z.number().nullable();

/** The seed's twelve fields, and apart from them what the seed does not have. */
export const auditRecordSchema = z.strictObject({
  job_id: jobFields.id,
  description: z.string(),
  status: z.enum(['Completed', 'Failed']),
  /** The states that were visited, in order, each retry of Process once more. */
  state_transitions: z.array(z.enum(states)),
  agent: agent.nullable(),
  retry_count: z.int(),
  max_retries: z.number(),
  /** The flat price of the tier that was asked last; 0 without an agent. */
  cost_usd: z.number(),
  llm_response: z.string().nullable(),
  started_at: z.iso.datetime(),
  completed_at: z.iso.datetime(),
  duration_ms: z.int(),
  extra: z.strictObject({
    error: failureKind.nullable(),
    /** It could never have succeeded. */
    permanent: z.boolean(),
    /** No model was asked, for want of a key. */
    stub: z.boolean(),
    client: z.string(),
    batch: z.string().nullable(),
    llm_calls: z.int(),
    /** Calls of which nobody knows what they cost. */
    unknown_calls: z.int(),
    /** What all calls have cost, failed ones too; null where one of them is unknown. */
    booked_usd: nullableNumber,
    /** The part of it that was for choosing skill and tier. */
    classification_usd: nullableNumber,
    tokens: z.strictObject({
      input: nullableNumber,
      output: nullableNumber,
      cacheRead: nullableNumber,
      cacheWrite: nullableNumber,
    }),
  }),
});
export type AuditRecord = z.infer<typeof auditRecordSchema>;

/** The record of a job, and its calls: what the books keep. */
export interface BookedJob {
  readonly record: AuditRecord;
  readonly calls: readonly CallRow[];
  /** What `record.cost_usd` stands for, exactly. */
  readonly costNanoUsd: number;
}

export interface About {
  readonly client: string;
  readonly attributes: JsonObject;
  readonly redact: Redact;
}

/** Of a job that has ended, which is what it was updated for last. */
export function auditRecord(job: JobRecord, about: About): BookedJob {
  const { redact, client, attributes } = about;
  const calls = job.calls.map((call) => redactedCall(call, redact));
  const record: AuditRecord = {
    job_id: job.id,
    description: redact(job.description),
    status: job.status === 'Completed' ? 'Completed' : 'Failed',
    state_transitions: [...job.state_history],
    agent: job.agent,
    retry_count: job.retry_count,
    max_retries: job.retry_config.max_retries,
    cost_usd: usdNumber(job.cost_nano_usd),
    llm_response: job.llm_response === null ? null : redact(job.llm_response),
    started_at: job.created_at,
    completed_at: job.updated_at,
    duration_ms: Date.parse(job.updated_at) - Date.parse(job.created_at),
    extra: {
      error: job.failure === null ? null : redactedKind(job.failure, redact),
      permanent: job.permanent,
      stub: calls.some(({ is_stub }) => is_stub),
      client,
      batch: textOrNull(attributes.batch),
      llm_calls: calls.filter(({ is_stub }) => !is_stub).length,
      unknown_calls: calls.filter(({ cost_nano_usd }) => cost_nano_usd === null).length,
      booked_usd: usdOrNull(sumOf(calls)),
      classification_usd: usdOrNull(sumOf(calls.filter(({ purpose }) => purpose === 'classify'))),
      tokens: tokensOf(calls),
    },
  };
  return { record, calls, costNanoUsd: job.cost_nano_usd };
}

/** Null as soon as one of them is unknown: a sum that leaves it out would be wrong. */
function sumOf(calls: readonly CallRow[]): number | null {
  return calls.reduce<number | null>(
    (sum, { cost_nano_usd: cost }) => (sum === null || cost === null ? null : sum + cost),
    0,
  );
}

function tokensOf(calls: readonly CallRow[]): AuditRecord['extra']['tokens'] {
  const sums = tokenClasses.map((name) => [
    name,
    calls.reduce<number | null>((sum, { usage }) => {
      const count = usage?.[name] ?? null;
      return sum === null || count === null ? null : sum + count;
    }, 0),
  ]);
  return Object.fromEntries(sums) as Record<TokenClass, number | null>;
}

function redactedCall(call: CallRow, redact: Redact): CallRow {
  return call.message === null ? call : { ...call, message: redact(call.message) };
}

function redactedKind(kind: FailureKind, redact: Redact): FailureKind {
  if ('Business' in kind) return { Business: redact(kind.Business) };
  return { System: redact(kind.System) };
}

function usdOrNull(nanoUsd: number | null): number | null {
  return nanoUsd === null ? null : usdNumber(nanoUsd);
}

function textOrNull(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
