import { usdNumber, usdText } from '../models/money.ts';
import type { AuditRecord } from './audit-record.ts';
import type { Totals } from './books.ts';

/** The seed's twelve fields, then ours, each a column. */
const columns: readonly (readonly [string, (record: AuditRecord) => unknown])[] = [
  ['job_id', ({ job_id }) => job_id],
  ['description', ({ description }) => description],
  ['status', ({ status }) => status],
  ['state_transitions', ({ state_transitions }) => state_transitions.join('>')],
  ['skill', ({ agent }) => agent?.skill],
  ['model', ({ agent }) => agent?.model],
  ['retry_count', ({ retry_count }) => retry_count],
  ['max_retries', ({ max_retries }) => max_retries],
  ['cost_usd', ({ cost_usd }) => cost_usd],
  ['llm_response', ({ llm_response }) => llm_response],
  ['started_at', ({ started_at }) => started_at],
  ['completed_at', ({ completed_at }) => completed_at],
  ['duration_ms', ({ duration_ms }) => duration_ms],
  ['error_kind', ({ extra: { error } }) => (error === null ? null : Object.keys(error)[0])],
  ['error', ({ extra: { error } }) => (error === null ? null : Object.values(error)[0])],
  ['permanent', ({ extra }) => extra.permanent],
  ['stub', ({ extra }) => extra.stub],
  ['client', ({ extra }) => extra.client],
  ['batch', ({ extra }) => extra.batch],
  ['llm_calls', ({ extra }) => extra.llm_calls],
  ['unknown_calls', ({ extra }) => extra.unknown_calls],
  ['booked_usd', ({ extra }) => extra.booked_usd],
  ['classification_usd', ({ extra }) => extra.classification_usd],
  ['input_tokens', ({ extra }) => extra.tokens.input],
  ['output_tokens', ({ extra }) => extra.tokens.output],
  ['cache_read_tokens', ({ extra }) => extra.tokens.cacheRead],
  ['cache_write_tokens', ({ extra }) => extra.tokens.cacheWrite],
];

export const csvHeader = columns.map(([name]) => name).join(',');

/** As RFC 4180 has it; what is unknown is empty. */
export function csvLine(record: AuditRecord): string {
  return columns.map(([, value]) => csvCell(value(record))).join(',');
}

function csvCell(value: unknown): string {
  const text = value === null || value === undefined ? '' : decimal(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Never in the form 1e-9, which not every reader knows. */
function decimal(value: unknown): string {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value);
  return value.toFixed(9).replace(/\.?0+$/, '');
}

/** For programs. */
export function totalsView({ group, cost, booked, ...counts }: Totals) {
  const { jobs, completed, retries, calls, unknownCalls, averageMs } = counts;
  return {
    group,
    jobs,
    completed,
    success_rate: jobs === 0 ? null : completed / jobs,
    retries,
    llm_calls: calls,
    unknown_calls: unknownCalls,
    cost_usd: usdNumber(cost),
    booked_usd: usdNumber(booked),
    average_ms: averageMs,
  };
}

/** For people. */
export function totalsCells({ group, jobs, completed, retries, ...rest }: Totals): string[] {
  return [
    group,
    String(jobs),
    jobs === 0 ? '-' : `${Math.round((100 * completed) / jobs)} %`,
    String(retries),
    String(rest.calls),
    usdText(rest.cost),
    `${usdText(rest.booked)}${rest.unknownCalls > 0 ? ` + ${rest.unknownCalls} unknown` : ''}`,
  ];
}

export const totalsHeader = [
  'GROUP',
  'JOBS',
  'SUCCESS',
  'RETRIES',
  'CALLS',
  'COST USD',
  'BOOKED USD',
] as const;

/** For people: one row of the audit table. */
export function recordCells(record: AuditRecord): string[] {
  const { job_id, status, agent, retry_count, cost_usd, description, extra } = record;
  return [
    job_id.slice(0, 8),
    `${status}${extra.stub ? ' (stub)' : ''}`,
    agent?.skill ?? '-',
    agent?.model ?? '-',
    String(retry_count),
    String(extra.llm_calls),
    decimal(cost_usd),
    extra.booked_usd === null ? 'unknown' : decimal(extra.booked_usd),
    shortened(
      extra.error === null ? description : `${description}: ${Object.values(extra.error)[0]}`,
    ),
  ];
}

export const recordHeader = [
  'JOB',
  'STATUS',
  'SKILL',
  'MODEL',
  'RETRIES',
  'CALLS',
  'COST USD',
  'BOOKED USD',
  'DESCRIPTION',
] as const;

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 70 ? line : `${line.slice(0, 69)}…`;
}
