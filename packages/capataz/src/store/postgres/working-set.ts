import { createHash } from 'node:crypto';
import type { Job } from '../../core/job.ts';
import {
  type HeldReservation,
  type InboxRecord,
  MemoryData,
  type OpenJob,
  type TaskRecord,
} from '../memory/data.ts';
import type { Deadlines } from '../rules.ts';

/** An open job as it was read, to be compared with how the rules leave it. */
export interface JobBefore {
  readonly job: Job;
  readonly deadlines: Deadlines;
  readonly leaseEndsAt: number | null;
  readonly lastSeq: number;
  readonly memos: OpenJob['memos'];
  readonly tasks: ReadonlyMap<string, TaskRecord>;
  readonly inbox: readonly InboxRecord[];
  readonly seen: ReadonlySet<string>;
}

type UsedKey = MemoryData['keys'] extends Map<string, infer Used> ? Used : never;

/** Behind everything that is stored: what a commit adds gets its number when it is written. */
const beyondAll = 2 ** 52;

/**
 * What one transaction has locked and read, as the memory store would hold it: its rules are applied
 * to it, and what they have made of it is written back.
 */
export class WorkingSet {
  readonly data = new MemoryData();
  readonly at: number;
  readonly before = new Map<string, JobBefore>();
  /** Ended jobs that were there. */
  readonly ended = new Set<string>();
  readonly inboxRows = new Map<InboxRecord, number>();
  readonly letterRows = new Map<MemoryData['letters'][number], number>();
  readonly shareRows = new Map<HeldReservation, number>();
  /** What others hold, as sums: not to be written back. */
  readonly sums = new Set<HeldReservation>();
  readonly addressesBefore = new Set<string>();
  /** Idempotency keys as they were read. */
  readonly keyRows = new Map<string, UsedKey>();
  /** Class keys in which more is queued than was read. */
  readonly fullClasses = new Set<string>();

  constructor({ at, places, handOuts }: { at: number; places: number; handOuts: number }) {
    this.at = at;
    this.data.latest = at;
    this.data.queued = places;
    this.data.handOuts = handOuts;
    this.data.arrivals = beyondAll;
  }

  /** To be called when all is read and before a rule is applied. */
  remember(): void {
    for (const [id, owner] of this.data.open) {
      const { job, deadlines, leaseEndsAt, memos } = owner;
      this.before.set(id, {
        job,
        deadlines,
        leaseEndsAt,
        memos,
        lastSeq: this.data.books.get(id)?.length ?? 0,
        tasks: new Map(owner.tasks),
        inbox: [...owner.inbox],
        seen: new Set(owner.seen),
      });
    }
    for (const [address, jobs] of this.data.addresses) {
      for (const job of jobs) this.addressesBefore.add(pairKey(address, job));
    }
  }
}

export function pairKey(a: string, b: string): string {
  return JSON.stringify([a, b]);
}

/** A class key may be too long for an index. */
export function classId(key: string): string {
  return createHash('md5').update(key).digest('hex');
}
