import { z } from 'zod';
import type * as api from '../../protocol/dead-letters-api.ts';
import { instant, json, maxPage, page, shortText } from './client-schemas.ts';

/** The wire of dead letters; the types of `protocol/dead-letters-api.ts` are what they fit. */

export const deadLetterView = z.object({
  id: z.string(),
  job_id: z.string(),
  correlation_id: z.string(),
  exchange: z.string(),
  name: z.string(),
  payload: json,
  sequence: z.int(),
  tries: z.int(),
  error: z.string(),
  created_at: instant,
  moved_at: instant,
  resolved_at: instant.nullable(),
  resolved_by: z.string().nullable(),
  notes: z.string().nullable(),
}) satisfies z.ZodType<api.DeadLetterView>;

export const deadLettersQuery = z.strictObject({
  name: z.string().optional().describe('Only events of this name.'),
  job_id: z.string().optional().describe('Only events of this job.'),
  resolved: z
    .enum(['true', 'false'])
    .default('false')
    .describe('Whether resolved ones count, too.'),
  limit: page.describe(`At most ${maxPage}.`),
  after: z.string().optional().describe('`next` of the page before.'),
});

export const deadLettersAnswer = z.object({
  dead_letters: z.array(deadLetterView),
  next: z.string().nullable().describe('Give it as `after` for the next page.'),
}) satisfies z.ZodType<api.DeadLettersAnswer>;

const ids = z.array(shortText).min(1).max(maxPage);

export const redriveLettersBody = z.strictObject({
  ids,
}) satisfies z.ZodType<api.RedriveLettersBody>;

export const resolveLettersBody = z.strictObject({
  ids,
  notes: z.exactOptional(z.string().max(10_000)).describe('Why nothing more is to be done.'),
}) satisfies z.ZodType<api.ResolveLettersBody>;

export const settledLettersAnswer = z.object({
  ids: z.array(z.string()).describe('Those that were there and unresolved.'),
}) satisfies z.ZodType<api.SettledLettersAnswer>;
