import { createHash } from 'node:crypto';
import type { HistoryEntry } from '../../core/history.ts';
import type { Job } from '../../core/job.ts';
import {
  type BookOwner,
  type HeldReservation,
  type InboxRecord,
  MemoryData,
  type OpenJob,
  type TaskRecord,
} from '../memory/data.ts';
import { type Deadlines, sealedEntry } from '../rules.ts';
import { ClassQueue } from './queue.ts';

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

/** A row of a book, as it is to be stored. */
export interface BookRow {
  readonly job: string;
  /** Of the last entry. */
  readonly seq: number;
  readonly count: number;
  readonly entries: string;
}

type UsedKey = MemoryData['keys'] extends Map<string, infer Used> ? Used : never;

/** Behind everything that is stored: what a commit adds gets its number when it is written. */
const beyondAll = 2 ** 52;

const noTasks: ReadonlyMap<string, TaskRecord> = new Map();
const noneSeen: ReadonlySet<string> = new Set();

/** The memory store's data for the time of one commit. Of a book only the length is known. */
class BatchData extends MemoryData {
  readonly #lastSeqs = new Map<string, number>();
  readonly bookRows: BookRow[] = [];

  lastSeqOf(id: string): number {
    return this.#lastSeqs.get(id) ?? 0;
  }

  putBook(id: string, lastSeq: number): void {
    this.#lastSeqs.set(id, lastSeq);
  }

  override write({ id: job }: BookOwner, entries: readonly HistoryEntry[]): void {
    const count = entries.length;
    if (count === 0) return;
    const texts = entries.map((entry) => {
      const { text, lost } = sealedEntry(entry);
      if (lost) this.lostEntries += 1;
      return text;
    });
    const seq = this.lastSeqOf(job) + count;
    this.#lastSeqs.set(job, seq);
    this.bookRows.push({ job, seq, count, entries: `[${texts.join(',')}]` });
  }

  /** Nobody keeps it here: once it is given out, it is written as text, and the whole is thrown away. */
  override given<T>(record: T): T {
    return record;
  }
}

/**
 * What one transaction has locked and read, as the memory store would hold it: its rules are applied
 * to it, and what they have made of it is written back.
 */
export class WorkingSet {
  readonly data = new BatchData();
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
  /** Ids of classes in which more is queued than was read. */
  readonly fullClasses = new Set<string>();
  queue = new ClassQueue(this.data, []);

  constructor({ at, places, handOuts }: { at: number; places: number; handOuts: number }) {
    this.at = at;
    this.data.latest = at;
    this.data.queued = places;
    this.data.handOuts = handOuts;
    this.data.arrivals = beyondAll;
  }

  /**
   * To be called when all is read and before a rule is applied.
   * @param classKeys of what claims may ask for
   */
  remember(classKeys: Iterable<string>): void {
    const { data } = this;
    for (const [id, owner] of data.open) {
      const { job, deadlines, leaseEndsAt, memos } = owner;
      this.before.set(id, {
        job,
        deadlines,
        leaseEndsAt,
        memos,
        lastSeq: data.lastSeqOf(id),
        tasks: owner.tasks.size === 0 ? noTasks : new Map(owner.tasks),
        inbox: owner.inbox.length === 0 ? [] : [...owner.inbox],
        seen: owner.seen.size === 0 ? noneSeen : new Set(owner.seen),
      });
    }
    for (const [address, jobs] of data.addresses) {
      for (const job of jobs) this.addressesBefore.add(pairKey(address, job));
    }
    this.queue = new ClassQueue(data, classKeys);
  }
}

export function pairKey(a: string, b: string): string {
  return JSON.stringify([a, b]);
}

/** So many classes are remembered, which few applications have. */
const maxClassIds = 10_000;
const classIds = new Map<string, string>();

/** A class key may be too long for an index. */
export function classId(key: string): string {
  let id = classIds.get(key);
  if (id === undefined) {
    id = createHash('md5').update(key).digest('hex');
    if (classIds.size >= maxClassIds) classIds.clear();
    classIds.set(key, id);
  }
  return id;
}
