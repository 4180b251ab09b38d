import type { TimerName } from '../../core/signal.ts';
import { type Deadlines, earliest, rungAt } from '../rules.ts';
import type { FoundJob, Times } from './change-plan.ts';
import type { ChangeMessage, TimersMessage } from './messages.ts';
import type { WriterState } from './writer-state.ts';

/** Deadlines of jobs. `deadlinesAfter` in ../rules.ts says how they follow from one another. */

/** @param ringsAt when the change itself rings for the inbox, else null. */
export function timesAfter(
  change: ChangeMessage,
  found: FoundJob | undefined,
  hasLease: boolean,
  ringsAt: number | null,
): Times {
  const { leaseUntil } = change;
  const { text, dueAt } = timersAfter(change, found, ringsAt);
  const until = leaseUntil === 'keep' ? (found?.lease_until ?? null) : leaseUntil;
  return { timers: text, dueAt, leaseUntil: hasLease ? until : null };
}

/** Mostly one of the two texts stands as it is, and nothing has to be parsed. */
function timersAfter(
  { timers, also }: ChangeMessage,
  found: FoundJob | undefined,
  ringsAt: number | null,
): TimersMessage {
  const before = { text: found?.timers ?? '{}', dueAt: found?.due_at ?? null };
  const isAlarmed = timers !== 'keep' && before.text.includes('"inbox"');
  const isTouched = also !== null && (also.disarm.length > 0 || Object.keys(also.rearm).length > 0);
  if (!isAlarmed && !isTouched && ringsAt === null) return timers === 'keep' ? before : timers;
  const old = JSON.parse(before.text) as Deadlines;
  const next: Partial<Record<TimerName, number>> =
    timers === 'keep' ? { ...old } : (JSON.parse(timers.text) as Deadlines);
  if (isAlarmed && old.inbox !== undefined) next.inbox = old.inbox;
  for (const name of also?.disarm ?? []) delete next[name];
  Object.assign(next, also?.rearm);
  if (ringsAt !== null) next.inbox = rungAt(next.inbox, ringsAt);
  return { text: JSON.stringify(next), dueAt: earliest(next) };
}

/** The job is to look into its inbox as soon as may be. */
export function ring(state: WriterState, job: number, at: number): void {
  const deadlines = deadlinesOfJob(state, job);
  retime(state, job, { ...deadlines, inbox: rungAt(deadlines.inbox, at) });
}

/** The job's wait ends now. */
export function wakeUp(state: WriterState, job: number, at: number): void {
  retime(state, job, { ...deadlinesOfJob(state, job), wake: at });
}

function deadlinesOfJob({ statements }: WriterState, job: number): Deadlines {
  return JSON.parse(statements.one<{ timers: string }>('job-timers', job).timers) as Deadlines;
}

function retime({ statements }: WriterState, job: number, deadlines: Deadlines): void {
  statements.run('job-retime', job, JSON.stringify(deadlines), earliest(deadlines));
}
