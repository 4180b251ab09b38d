import { z } from 'zod';
import type * as api from '../../protocol/schedules-api.ts';
import { slotOutcomes } from '../../protocol/schedules-api.ts';
import { instant } from './client-schemas.ts';

/** The wire of schedules; the types of `protocol/schedules-api.ts` are what they fit. */

const slotRecordView = z.object({
  first_slot: instant,
  slot: instant.describe('The last of them; the same as the first where it is one.'),
  outcome: z
    .enum(slotOutcomes)
    .describe(
      'Its job was `started`; the job of an earlier slot was still `busy`; it fell into a `blackout`; it was `missed` and not caught up with; its start was `refused`.',
    ),
  job_id: z.string().nullable(),
  reason: z.string().nullable(),
  at: instant,
}) satisfies z.ZodType<api.SlotRecordView>;

export const scheduleView = z.object({
  name: z.string(),
  blueprint: z.string(),
  rule: z.string().describe('In words: `daily at 02:30`.'),
  zone: z.string(),
  jitter: z.string(),
  overlap: z.string(),
  catch_up: z.string(),
  blackouts: z.array(z.string()),
  in_blackout: z.string(),
  paused: z.boolean(),
  paused_at: instant.nullable(),
  paused_by: z
    .string()
    .nullable()
    .describe('The client that paused it, or the name of the file that does.'),
  next_starts: z.array(instant).describe('As if it were not paused.'),
  recent: z
    .array(slotRecordView)
    .describe('What became of its latest slots, the latest first; at most 20 entries.'),
}) satisfies z.ZodType<api.ScheduleView>;

export const schedulesAnswer = z.object({
  schedules: z.array(scheduleView),
}) satisfies z.ZodType<api.SchedulesAnswer>;
