import { isDeepStrictEqual } from 'node:util';
import { silenceMs, type WorkerRecord } from '../core/worker.ts';
import {
  isOperationalWorker,
  newWorker,
  statusHolding,
  type WorkerAggregate,
  type WorkerChange,
  type WorkerOutcome,
} from '../core/worker-machine.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Clock } from '../std/clock.ts';
import type { HeldTask } from './attempts.ts';
import type { Heartbeat } from './ports.ts';

/** Heartbeats that must miss an attempt before its absence means anything. */
const missesToLose = 2;
/** How long the stock Python SDK goes on sending a result that it no longer names (S-24). */
const resultRetriesMs = 31_000;
/** Who does not say how many tasks it runs at once is never full. */
const unknownSlots = Number.MAX_SAFE_INTEGER;

/** Heartbeats without a word, after which others may hear from it. */
const elsewhereAfter = 2;

/** One of the operations of core/worker-machine.ts. */
export type WorkerOperation = (worker: WorkerAggregate, now: number) => WorkerOutcome;

/** One worker as this instance has seen it. Its status changes by `apply` and in no other way. */
export class Presence {
  /** As it is known now; only `adopt`, `apply` and `update` make another one. */
  record: WorkerRecord;
  /** The store has an older record, which the next heartbeat replaces. */
  isUnsaved = false;
  /** The store knows it by this registration. */
  isStored: boolean;
  /** Its heartbeats name its attempts. Before the first one, only the batched form promises it. */
  saysWhatItHolds: boolean;
  readonly #clock: Clock;
  #silentAt: number;
  #heardAt = Number.NEGATIVE_INFINITY;
  #aggregate: WorkerAggregate;
  /** What its last heartbeat said that keeps tasks from it. */
  closedBy: 'full' | 'offline' | null = null;

  constructor(
    record: WorkerRecord,
    clock: Clock,
    known: { readonly silentAfterMs: number; readonly isStored: boolean },
  ) {
    this.record = record;
    this.isStored = known.isStored;
    this.saysWhatItHolds = record.batch;
    this.#clock = clock;
    this.#silentAt = clock.steady() + known.silentAfterMs;
    this.#aggregate = aggregateOf(record, clock);
  }

  /**
   * Another instance has stored this. READY and BUSY are each instance's own, for they follow from what
   * it knows the worker to hold. @returns whether it is news.
   */
  adopt(record: WorkerRecord): boolean {
    const isWorking = [record, this.record].every(({ status }) => isOperationalWorker(status));
    const status = isWorking ? this.record.status : record.status;
    const news = { ...record, status };
    if (this.isUnsaved && !this.isElsewhere) return false;
    this.isUnsaved = false;
    if (isDeepStrictEqual(news, this.record)) return false;
    this.record = news;
    this.#aggregate = aggregateOf(news, this.#clock);
    return true;
  }

  /** What the operation would change. @throws CapatazError INVALID_WORKER_STATE_TRANSITION */
  check(operation: WorkerOperation): WorkerChange {
    const outcome = operation(this.#aggregate, this.#clock.now());
    if (outcome.type === 'changed') return outcome;
    const { type: _, ...details } = outcome;
    const { worker_id, from_state, to_state, reason } = details;
    throw new CapatazError(
      'INVALID_WORKER_STATE_TRANSITION',
      `worker "${worker_id}" is ${from_state} and cannot become ${to_state} (${reason})`,
      details,
    );
  }

  /** @throws CapatazError INVALID_WORKER_STATE_TRANSITION: nothing was changed. */
  apply(operation: WorkerOperation): WorkerChange {
    const change = this.check(operation);
    this.#aggregate = change.worker;
    const { status } = change.worker;
    if (status !== this.record.status) this.record = { ...this.record, status };
    return change;
  }

  /** So much work leaves its status as it is; the way of nearly every commit, and cheap. */
  isUnmovedBy(load: number): boolean {
    const { status } = this.record;
    return isOperationalWorker(status) && statusHolding(this.#aggregate, load) === status;
  }

  /** Any request of the worker is a sign of life. */
  seen(): void {
    this.#heardAt = this.#clock.steady();
    this.#silentAt = this.#heardAt + silenceMs(this.record);
  }

  /** Its last sign of life may have gone to another instance. */
  get isElsewhere(): boolean {
    return this.#clock.steady() - this.#heardAt > elsewhereAfter * this.record.heartbeatMs;
  }

  /** A dropped connection is evidence, not proof. @returns ms until it counts as silent. */
  dropped(heartbeats: number): number {
    const silentAt = this.#clock.steady() + heartbeats * this.record.heartbeatMs;
    this.#silentAt = Math.min(this.#silentAt, silentAt);
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
    return isOperationalWorker(this.record.status) && this.closedBy === null;
  }

  /** Takes a heartbeat's news, its status apart. @returns whether the record changed. */
  update({ status, currentTasks, skills, hotSkills }: Heartbeat): boolean {
    if (status !== undefined) {
      this.closedBy = status === 'full' || status === 'offline' ? status : null;
      this.saysWhatItHolds = currentTasks !== undefined;
    }
    const { offer } = this.record;
    const newSkills = skills !== undefined && skills.length > 0 && differ(skills, offer.skills);
    const newHot = hotSkills !== undefined && differ(hotSkills, offer.hotSkills);
    if (!newSkills && !newHot) return false;
    this.isUnsaved = true;
    this.record = {
      ...this.record,
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
}

function aggregateOf({ id, slots, status }: WorkerRecord, clock: Clock): WorkerAggregate {
  return newWorker(id, clock.now(), { ephemeral: false, slots: slots ?? unknownSlots, status });
}

function differ(a: readonly string[], b: readonly string[]): boolean {
  return a.length !== b.length || a.some((item, index) => item !== b[index]);
}
