import { workerMayBecome } from '../core/status.ts';
import { silenceMs, type WorkerRecord } from '../core/worker.ts';
import type { Clock } from '../std/clock.ts';
import type { HeldTask } from './attempts.ts';
import type { Heartbeat } from './ports.ts';

/** Heartbeats that must miss an attempt before its absence means anything. */
const missesToLose = 2;
/** How long the stock Python SDK goes on sending a result that it no longer names (S-24). */
const resultRetriesMs = 31_000;

/** One worker as this instance has seen it. */
export class Presence {
  record: WorkerRecord;
  /** Its heartbeats name its attempts. Before the first one, only the batched form promises it. */
  saysWhatItHolds: boolean;
  readonly #clock: Clock;
  #silentAt: number;
  /** What its last heartbeat said that keeps tasks from it. */
  closedBy: 'full' | 'offline' | null = null;

  constructor(record: WorkerRecord, clock: Clock, silentAfterMs: number) {
    this.record = record;
    this.saysWhatItHolds = record.batch;
    this.#clock = clock;
    this.#silentAt = clock.steady() + silentAfterMs;
  }

  /** Any request of the worker is a sign of life. */
  seen(): void {
    this.#silentAt = this.#clock.steady() + silenceMs(this.record);
  }

  /** A dropped connection is evidence, not proof. @returns ms until it counts as silent. */
  dropped(): number {
    this.#silentAt = Math.min(this.#silentAt, this.#clock.steady() + this.record.heartbeatMs);
    return Math.max(0, this.silentInMs());
  }

  /** This process was not running for a while: one heartbeat's chance before anything is concluded. */
  forgive(): void {
    this.#silentAt = Math.max(this.#silentAt, this.#clock.steady() + this.record.heartbeatMs);
  }

  silentInMs(): number {
    return Math.ceil(this.#silentAt - this.#clock.steady());
  }

  get accepts(): boolean {
    return this.record.status === 'READY' && this.closedBy === null;
  }

  /** Takes a heartbeat's news. @returns whether the record changed. */
  update({ status, currentTasks, skills, hotSkills }: Heartbeat): boolean {
    if (status !== undefined) {
      this.closedBy = status === 'full' || status === 'offline' ? status : null;
      this.saysWhatItHolds = currentTasks !== undefined;
    }
    const { offer } = this.record;
    const draining = status === 'draining' && workerMayBecome(this.record.status, 'DRAINING');
    const newSkills = skills !== undefined && skills.length > 0 && differ(skills, offer.skills);
    const newHot = hotSkills !== undefined && differ(hotSkills, offer.hotSkills);
    if (!draining && !newSkills && !newHot) return false;
    this.record = {
      ...this.record,
      status: draining ? 'DRAINING' : this.record.status,
      offer: {
        ...offer,
        skills: newSkills ? skills : offer.skills,
        hotSkills: newHot ? hotSkills : offer.hotSkills,
      },
    };
    return true;
  }

  /** Which of the attempts a heartbeat shows to be at work, and which to be lost. */
  judge(
    held: readonly HeldTask[],
    current: ReadonlySet<string>,
    prefetched: ReadonlySet<string>,
  ): { readonly begun: HeldTask[]; readonly lost: HeldTask[] } {
    const now = this.#clock.steady();
    const begun: HeldTask[] = [];
    const lost: HeldTask[] = [];
    for (const entry of held) {
      const attempt = entry.task.attempt?.id ?? '';
      if (current.has(attempt) || prefetched.has(attempt)) {
        entry.misses = 0;
        if (current.has(attempt)) begun.push(entry);
        continue;
      }
      if (entry.misses === 0) entry.missingSince = now;
      entry.misses += 1;
      if (this.#isLost(entry, now)) lost.push(entry);
    }
    return { begun, lost };
  }

  #isLost({ misses, since, missingSince }: HeldTask, now: number): boolean {
    if (misses < missesToLose || now - since < silenceMs(this.record)) return false;
    return this.record.bootId !== null || now - missingSince >= resultRetriesMs;
  }

  /** Its record with the status that its load gives it (S-38). */
  shown(load: number): WorkerRecord {
    const { status, slots } = this.record;
    const busy = workerMayBecome(status, 'BUSY') && slots !== null && load >= slots;
    return busy ? { ...this.record, status: 'BUSY' } : this.record;
  }
}

function differ(a: readonly string[], b: readonly string[]): boolean {
  return a.length !== b.length || a.some((item, index) => item !== b[index]);
}
