import type { SlotOutcome } from '../protocol/schedules-api.ts';
import { dueSlots } from '../schedule/catch-up.ts';
import type { Plan } from '../schedule/plan.ts';
import type { Schedule } from '../schedule/schedule.ts';
import { type SlotStep, slotSteps, slotsIn } from '../schedule/slot-steps.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { SlotRecord, StoredSchedule } from '../store/contract.ts';
import { ScheduleRow, type ScheduleStore } from './schedule-row.ts';
import { ScheduleTime } from './schedule-time.ts';
import { instantText, SlotJobs, type SlotStarted, type SlotStartParts } from './slot-start.ts';

/** Told once of each slot, by whichever instance has noted it. */
export type SlotMeter = (schedule: string, outcome: SlotOutcome, slots: number) => void;

export interface SlotRunnerParts extends SlotStartParts {
  readonly schedule: Schedule;
  readonly plan: Plan;
  readonly store: ScheduleStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: SlotMeter;
}

/**
 * The wall clock may be set while a runner sleeps, and another instance may have resumed the schedule,
 * so that it looks now and then.
 */
const longestSleepMs = 60_000;
const retryMs = 5_000;

/**
 * Deals with the slots of one schedule. Any number of them may work on one store: the key of a slot
 * makes it one job, and what was dealt with is read before, and noted after.
 */
export class SlotRunner {
  readonly #parts: SlotRunnerParts;
  readonly #jobs: SlotJobs;
  readonly #row: ScheduleRow;
  readonly #stopping = new AbortController();
  #cancelAlarm: CancelTimer = () => undefined;
  #passing: Promise<void> = Promise.resolve();
  /** A steady instant; null: it only pauses and resumes what others run. */
  #startedAt: number | null = null;
  readonly #time: ScheduleTime;
  #hasCaughtUp = false;
  #hasToldAhead = false;

  constructor(parts: SlotRunnerParts) {
    this.#parts = parts;
    this.#jobs = new SlotJobs(parts);
    this.#row = new ScheduleRow(parts.store, parts.schedule.name);
    this.#time = new ScheduleTime(parts);
  }

  start(): void {
    this.#startedAt = this.#parts.clock.steady();
    this.#sleep(0);
  }

  /** Begins no further start, and waits for one that is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelAlarm();
    await this.#passing;
  }

  /** No slot starts any more, on whatever instance, until it is resumed. */
  pause(by: string): Promise<StoredSchedule> {
    return this.#row.pause(by);
  }

  /** What came in the pause is caught up with at once. */
  async resume(by: string): Promise<StoredSchedule> {
    const stored = await this.#row.resume(by, await this.#time.now());
    this.#look();
    return stored;
  }

  #sleep(ms: number): void {
    this.#cancelAlarm();
    if (this.#stopping.signal.aborted) return;
    this.#cancelAlarm = this.#parts.clock.after(ms, () => this.#look());
  }

  /** After a pass that is under way. */
  #look(): void {
    if (this.#startedAt === null) return;
    this.#passing = this.#passing.then(() => this.#pass());
  }

  async #pass(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { log, schedule } = this.#parts;
    let ms = retryMs;
    try {
      const nextAt = await this.#deal();
      // Time has gone on, and may have been set.
      const now = await this.#time.now();
      ms = Math.min(longestSleepMs, Math.max(1, nextAt - now));
    } catch (error) {
      const fields = { schedule: schedule.name, error };
      if (!this.#stopping.signal.aborted)
        log.warn('a schedule could not be looked at; again soon', fields);
    }
    this.#sleep(ms);
  }

  /** @returns when to look again. */
  async #deal(): Promise<number> {
    const { plan, schedule } = this.#parts;
    let stored = await this.#read();
    const now = await this.#time.now();
    const { handled, resumedAt } = stored;
    this.#tellIfAhead(handled, now);
    const found = dueSlots(plan, { handled, resumedAt }, now, schedule.catchUp);
    for (const step of slotSteps(plan, handled, found, schedule.catchUp)) {
      if (schedule.isPaused || stored.pausedAt !== null) break;
      if (this.#stopping.signal.aborted) break;
      // Another instance was quicker.
      if (step.last <= stored.handled) continue;
      stored = await this.#take(step, stored);
    }
    return found.nextAt ?? Number.POSITIVE_INFINITY;
  }

  /** The last slot that has a job counts, also where whoever started it could not note it any more. */
  async #read(): Promise<StoredSchedule> {
    const stored = await this.#row.read();
    if (stored !== null && this.#hasCaughtUp) return stored;
    const now = await this.#time.now();
    const last = await this.#jobs.last(now);
    const known = stored ?? (await this.#row.begin(last?.slot ?? this.#startOf(now)));
    this.#hasCaughtUp = true;
    if (last === null || last.slot <= known.handled) return known;
    const { slot, job: jobId } = last;
    const started = { outcome: 'started', jobId, reason: null, wasCreated: false } as const;
    return this.#note({ first: slot, last: slot }, started, known);
  }

  /** The runner may have waited for the store since then. */
  #startOf(now: number): number {
    const startedAt = this.#startedAt ?? this.#parts.clock.steady();
    return now - Math.floor(this.#parts.clock.steady() - startedAt);
  }

  /** Some clock has been wrong: this one, or that of whoever dealt with that slot. */
  #tellIfAhead(handled: number, now: number): void {
    if (this.#hasToldAhead || handled <= now + longestSleepMs) return;
    this.#hasToldAhead = true;
    const { log, schedule } = this.#parts;
    const about = { schedule: schedule.name, last: instantText(handled) };
    const what = 'the last slot lies ahead of the clock: nothing starts until then, or until the';
    log.warn(`${what} schedule is resumed`, about);
  }

  async #take(step: SlotStep, stored: StoredSchedule): Promise<StoredSchedule> {
    const { action, reason } = step;
    const done: SlotStarted =
      action === 'start'
        ? await this.#jobs.start(step.last)
        : { outcome: action, jobId: null, reason, wasCreated: false };
    return this.#note(step, done, stored);
  }

  async #note(
    { first, last }: Pick<SlotStep, 'first' | 'last'>,
    { wasCreated, ...became }: SlotStarted,
    stored: StoredSchedule,
  ): Promise<StoredSchedule> {
    const { meter, plan, schedule } = this.#parts;
    const record = { first, last, ...became, at: await this.#time.now() };
    const noted = await this.#row.note(stored, record, wasCreated);
    if (noted.isNoted) {
      meter(schedule.name, record.outcome, slotsIn(plan, record));
      this.#tell(record);
    }
    return noted.stored;
  }

  #tell({ first, last, outcome, jobId, reason }: SlotRecord): void {
    const { log, schedule } = this.#parts;
    const slots = { first: instantText(first), last: instantText(last) };
    const why = reason === null ? {} : { reason };
    const about = { schedule: schedule.name, ...slots, ...why };
    switch (outcome) {
      case 'started':
        return log.debug('a slot has its job', { ...about, job: jobId ?? '' });
      case 'busy':
        return log.warn('a slot is left out: the job of an earlier one has not ended', about);
      case 'blackout':
        return log.info('slots are left out in a blackout', about);
      case 'missed':
        return log.warn('missed slots are not caught up with', about);
      case 'refused':
        return log.error('a slot has no job: it was refused', about);
    }
  }
}
