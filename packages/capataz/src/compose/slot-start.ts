import { isFinal, type JobStatus, jobStatuses } from '../core/status.ts';
import type { CreateJob, JobsPort } from '../engine/ports.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { SlotOutcome } from '../protocol/schedules-api.ts';
import { type OpenRun, overlapStart } from '../schedule/overlap.ts';
import { type Schedule, slotKey } from '../schedule/schedule.ts';

export interface SlotStartParts {
  readonly schedule: Schedule;
  /** Whose jobs they are. */
  readonly client: string;
  readonly jobs: Pick<JobsPort, 'create' | 'list' | 'cancel'>;
}

/** What became of the start of a slot. */
export interface SlotStarted {
  readonly outcome: SlotOutcome;
  readonly jobId: string | null;
  readonly reason: string | null;
  /** This very start has made the job. */
  readonly wasCreated: boolean;
}

/** Jobs that are looked at for the last slot: later ones of the same time may have been first. */
const lastJobs = 20;
const maxOpen = 1_000;

/** A quarantined job waits for a person, who would not find it again. */
const openStatuses: readonly JobStatus[] = jobStatuses.filter(
  (status) => !isFinal(status) && status !== 'quarantined',
);

/** The jobs of one schedule: started slot by slot, cancelled where they overlap, and found again. */
export class SlotJobs {
  readonly #parts: SlotStartParts;

  constructor(parts: SlotStartParts) {
    this.#parts = parts;
  }

  /** A slot that has its job finds it. @throws CapatazError that is retryable */
  async start(slot: number): Promise<SlotStarted> {
    const { schedule, jobs } = this.#parts;
    const { overlap } = schedule;
    const open = overlap === 'cancel_previous' ? await this.#openRuns() : [];
    const { onBusy, cancel } = overlapStart(overlap, slot, open);
    for (const job of cancel) await this.#cancel(job, slot);
    const [answer] = await jobs.create([this.#request(slot, onBusy)]);
    const none = { jobId: null, reason: null, wasCreated: false };
    if (answer === undefined) return { ...none, outcome: 'refused' };
    if (!(answer instanceof CapatazError)) {
      const { id: jobId, created: wasCreated } = answer;
      return { ...none, outcome: 'started', jobId, wasCreated };
    }
    if (answer.code === 'SKIPPED') return { ...none, outcome: 'busy' };
    if (answer.retryable) throw answer;
    return { ...none, outcome: 'refused', reason: `${answer.code}: ${answer.message}` };
  }

  /** The latest slot up to an instant that has a job. */
  async last(now: number): Promise<OpenRun | null> {
    const runs = await this.#runs({ limit: lastJobs });
    const past = runs.filter(({ slot }) => slot <= now).sort((a, b) => b.slot - a.slot);
    return past[0] ?? null;
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

export function instantText(instant: number): string {
  return new Date(instant).toISOString();
}
