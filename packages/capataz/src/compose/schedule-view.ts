import { basename } from 'node:path';
import type { ScheduleView, SlotRecordView } from '../protocol/schedules-api.ts';
import { dueSlots } from '../schedule/catch-up.ts';
import type { Plan } from '../schedule/plan.ts';
import { ruleText } from '../schedule/rule-text.ts';
import type { Schedule } from '../schedule/schedule.ts';
import { formatDuration } from '../std/duration.ts';
import type { SlotRecord, StoredSchedule } from '../store/contract.ts';
import { instantText } from './slot-start.ts';

const shownStarts = 3;

export interface ScheduleState {
  readonly schedule: Schedule;
  readonly plan: Plan;
  readonly stored: StoredSchedule | null;
  readonly now: number;
  readonly file: string | null;
}

export function scheduleView({ schedule, plan, stored, now, file }: ScheduleState): ScheduleView {
  const { name, start, rule, zone, jitterMs, overlap, catchUp, blackouts, inBlackout } = schedule;
  return {
    name,
    blueprint: start.blueprint,
    rule: ruleText(rule),
    zone,
    jitter: jitterMs === 0 ? 'none' : formatDuration(jitterMs),
    overlap,
    catch_up: catchUp.policy,
    blackouts,
    in_blackout: inBlackout,
    ...pauseOf(schedule, stored, file),
    next_starts: nextStarts(schedule, plan, stored?.handled ?? now, now).map(instantText),
    recent: (stored?.recent ?? []).map(recordView).reverse(),
  };
}

function pauseOf(
  { isPaused }: Schedule,
  stored: StoredSchedule | null,
  file: string | null,
): Pick<ScheduleView, 'paused' | 'paused_at' | 'paused_by'> {
  const { pausedAt = null, changedBy = null } = stored ?? {};
  return {
    paused: isPaused || pausedAt !== null,
    paused_at: pausedAt === null ? null : instantText(pausedAt),
    paused_by: isPaused && file !== null ? basename(file) : pausedAt === null ? null : changedBy,
  };
}

/** A slot that has come and whose jitter or blackout holds it back still starts. */
function nextStarts(
  { catchUp }: Schedule,
  plan: Plan,
  handled: number,
  now: number,
): readonly number[] {
  const state = { handled, resumedAt: null };
  const starts: number[] = [];
  // After a wall clock that was far ahead nothing starts before what was dealt with then.
  let next = handled > now ? plan.nextStart(handled) : dueSlots(plan, state, now, catchUp).nextAt;
  while (next !== null && starts.length < shownStarts) {
    starts.push(next);
    next = plan.nextStart(next);
  }
  return starts;
}

function recordView(record: SlotRecord): SlotRecordView {
  const { first, last, outcome, jobId, reason, at } = record;
  return {
    first_slot: instantText(first),
    slot: instantText(last),
    outcome,
    job_id: jobId,
    reason,
    at: instantText(at),
  };
}
