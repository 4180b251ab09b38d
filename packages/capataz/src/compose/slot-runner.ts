import { isFinal, type JobStatus, jobStatuses } from '../core/status.ts';
import type { CreateJob, JobsPort } from '../engine/ports.ts';
import { CapatazError } from '../protocol/errors.ts';
import { dueSlots } from '../schedule/catch-up.ts';
import { type OpenRun, overlapStart } from '../schedule/overlap.ts';
import type { Plan } from '../schedule/plan.ts';
import { type Schedule, slotKey } from '../schedule/schedule.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';

export interface SlotRunnerParts {
  readonly schedule: Schedule;
  readonly plan: Plan;
  /** Whose jobs they are. */
  readonly client: string;
  readonly jobs: Pick<JobsPort, 'create' | 'list' | 'cancel'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The wall clock may be set while a runner sleeps, so that it looks at it now and then. */
const longestSleepMs = 60_000;
const retryMs = 5_000;
/** Jobs that are looked at for the last slot: later ones of the same time may have been first. */
const lastJobs = 20;
const maxOpen = 1_000;

/** A quarantined job waits for a person, who would not find it again. */
const openStatuses: readonly JobStatus[] = jobStatuses.filter(
  (status) => !isFinal(status) && status !== 'quarantined',
);

/**
 * Starts the job of each slot of one schedule. Any number of them may work on one store: the key of
 * a slot makes it one job, and what was dealt with is read from the jobs that are there.
 */
export class SlotRunner {
  readonly #parts: SlotRunnerParts;
  readonly #stopping = new AbortController();
  #cancelAlarm: CancelTimer = () => undefined;
  #passing: Promise<void> = Promise.resolve();
  #startedAt = 0;
  /** The last slot that was dealt with; where there is none, when this began. Null: not yet read. */
  #handled: number | null = null;

  constructor(parts: SlotRunnerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#startedAt = this.#parts.clock.now();
    this.#sleep(0);
  }

  /** Begins no further start, and waits for one that is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelAlarm();
    await this.#passing;
  }

  #sleep(ms: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelAlarm = this.#parts.clock.after(ms, () => {
      this.#passing = this.#pass();
    });
  }

  async #pass(): Promise<void> {
    const { log, schedule } = this.#parts;
    let ms = retryMs;
    try {
      ms = await this.#startDue();
    } catch (error) {
      const fields = { schedule: schedule.name, error };
      if (!this.#stopping.signal.aborted)
        log.warn('a slot could not be started; again soon', fields);
    }
    this.#sleep(ms);
  }

  /** @returns after how long to look again. */
  async #startDue(): Promise<number> {
    const { clock, log, plan, schedule } = this.#parts;
    this.#handled ??= await this.#lastSlot();
    const handled = this.#handled;
    const now = clock.now();
    const state = { handled, isPaused: schedule.isPaused, resumedAt: null };
    const { due, blackedOut, passed, nextAt } = dueSlots(plan, state, now, schedule.catchUp);
    for (const { slot } of due) {
      if (this.#stopping.signal.aborted) return 0;
      await this.#startJob(slot);
      this.#handled = slot;
    }
    const { name } = schedule;
    if (passed !== null) {
      const [first, last] = [instantText(passed.first), instantText(passed.last)];
      log.warn('missed slots are not caught up with', { schedule: name, first, last });
    }
    for (const { slot, blackout } of blackedOut) {
      const fields = { schedule: name, blackout, last: instantText(slot) };
      log.info('slots are left out in a blackout', fields);
    }
    const omitted = blackedOut.at(-1)?.slot ?? handled;
    this.#handled = Math.max(this.#handled, passed?.last ?? handled, omitted);
    return Math.min(longestSleepMs, Math.max(1, (nextAt ?? Number.POSITIVE_INFINITY) - now));
  }

  async #startJob(slot: number): Promise<void> {
    const { schedule, jobs, log } = this.#parts;
    const { name, overlap } = schedule;
    const open = overlap === 'cancel_previous' ? await this.#openRuns() : [];
    const { onBusy, cancel } = overlapStart(overlap, slot, open);
    for (const job of cancel) await this.#cancel(job, slot);
    const [answer] = await jobs.create([this.#request(slot, onBusy)]);
    const fields = { schedule: name, slot: instantText(slot) };
    if (!(answer instanceof CapatazError)) {
      if (answer?.created === true) log.debug('a slot has its job', { ...fields, job: answer.id });
    } else if (answer.code === 'SKIPPED') {
      log.warn('a slot is left out: the job of an earlier one has not ended', fields);
    } else {
      if (answer.retryable) throw answer;
      log.error('a slot has no job: it was refused', { ...fields, error: answer });
    }
  }

  #request(slot: number, onBusy: 'skip' | 'queue' | null): CreateJob {
    const { schedule, client } = this.#parts;
    const { name, start } = schedule;
    const { client: _, attributes, ...given } = start;
    const key = slotKey(name, slot);
    return {
      ...given,
      client,
      attributes: { ...attributes, schedule: name, slot: instantText(slot) },
      // A slot has one job, also when its entry was changed between two tries.
      idempotency: { key, bodyHash: key },
      ...(onBusy === null ? {} : { concurrency: { key: `schedule/${name}`, limit: 1, onBusy } }),
    };
  }

  async #cancel(job: string, slot: number): Promise<void> {
    const { jobs, schedule } = this.#parts;
    const reason = `replaced by the slot ${instantText(slot)} of the schedule ${schedule.name}`;
    try {
      await jobs.cancel(job, `schedule ${schedule.name}`, reason);
    } catch (error) {
      // It has ended by itself meanwhile.
      if (!(error instanceof CapatazError) || error.retryable) throw error;
    }
  }

  async #openRuns(): Promise<OpenRun[]> {
    return this.#runs({ status: openStatuses, limit: maxOpen });
  }

  async #lastSlot(): Promise<number> {
    const now = this.#parts.clock.now();
    const slots = (await this.#runs({ limit: lastJobs })).map(({ slot }) => slot);
    const past = slots.filter((slot) => slot <= now);
    return past.length === 0 ? this.#startedAt : Math.max(...past);
  }

  async #runs(query: {
    readonly status?: readonly JobStatus[];
    readonly limit: number;
  }): Promise<OpenRun[]> {
    const { schedule, client, jobs } = this.#parts;
    const found = await jobs.list({ ...query, client, attributes: { schedule: schedule.name } });
    return found.flatMap(({ id, options: { attributes } }) => {
      const slot = typeof attributes.slot === 'string' ? Date.parse(attributes.slot) : Number.NaN;
      return Number.isNaN(slot) ? [] : [{ job: id, slot }];
    });
  }
}

function instantText(instant: number): string {
  return new Date(instant).toISOString();
}
