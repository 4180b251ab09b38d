import type { HistoryEntry, StoredEntry } from '../../core/history.ts';
import type { Job, Task } from '../../core/job.ts';
import type { InboxItem } from '../../core/signal.ts';
import { canonicalCopy, type JsonValue } from '../../std/json.ts';
import type {
  DeadLetter,
  IdempotencyKey,
  JobEvent,
  News,
  OutboxEvent,
  StoredSchedule,
  StoredWorker,
} from '../contract.ts';
import { type Deadlines, isQueued, sealedEntry } from '../rules.ts';
import type { StoreTime } from '../store-time.ts';

/**
 * What a memory store remembers. It outlives the store that writes it: several can be opened on it,
 * one after another, as processes are on a database.
 */
export class MemoryData {
  /** Open and quarantined jobs, in the order of arrival. */
  readonly open = new Map<string, OpenJob>();
  readonly ended = new Map<string, Job>();
  readonly books = new Map<string, StoredEntry[]>();
  /** One row for each commit of a job; its position is its index plus one. */
  readonly feed: JobEvent[][] = [];
  /** The position up to which books were moved. */
  moved = 0;
  /** Jobs of whose books something lies in an archive, up to this sequence. */
  readonly archived = new Map<string, { seq: number; isForgotten: boolean }>();
  readonly workers = new Map<string, StoredWorker>();
  readonly offers = new Map<string, { graph: string; at: number }>();
  readonly schedules = new Map<string, StoredSchedule>();
  readonly keys = new Map<string, IdempotencyKey & { jobId: string; expiresAt: number }>();
  reservations: HeldReservation[] = [];
  /** Client and correlation key → jobs. */
  readonly addresses = new Map<string, Set<string>>();
  /** Signals that ended jobs had taken. */
  readonly seenByEnded = new Map<string, Set<string>>();
  /** Counts the waits for places. */
  queued = 0;
  /** Not published yet, in the order of the commits. */
  outbox: OutboxRow[] = [];
  /** In the order in which they were given up. */
  dead: DeadLetter[] = [];
  /** Signals to keys that nobody has registered yet. */
  letters: { address: string; item: InboxItem; expiresAt: number }[] = [];
  arrivals = 0;
  handOuts = 0;
  lostEntries = 0;
  /** The latest instant that was ever handed out. */
  latest = 0;
  /** Of all stores that share it. */
  time: StoreTime | null = null;
  /** Of the stores that are open on this data, each with whom it tells of the others. */
  readonly listeners = new Map<object, Set<(news: News) => void>>();

  /** Writes entries into the book of a job, as one row of the feed. */
  write({ id: jobId, client, correlationId }: BookOwner, entries: Entries, at: number): void {
    if (entries.length === 0) return;
    const book = this.books.get(jobId) ?? [];
    this.books.set(jobId, book);
    const position = this.feed.length + 1;
    const before = book.at(-1)?.seq ?? this.archivedSeq(jobId);
    const row: JobEvent[] = [];
    for (const unsealed of entries) {
      const { text, lost } = sealedEntry(unsealed);
      if (lost) this.lostEntries += 1;
      const entry: StoredEntry = {
        ...(JSON.parse(text) as HistoryEntry),
        seq: before + row.length + 1,
        at,
      };
      book.push(entry);
      row.push({ position, jobId, client, correlationId, entry });
    }
    this.feed.push(row);
  }

  archivedSeq(jobId: string): number {
    const archived = this.archived.get(jobId);
    return archived === undefined || archived.isForgotten ? 0 : archived.seq;
  }

  /** A record on its way out of the store. */
  given<T>(record: T): T {
    return copyOf(record);
  }
}

export type BookOwner = Pick<Job, 'id' | 'client' | 'correlationId'>;
type Entries = readonly HistoryEntry[];

export interface OpenJob {
  job: Job;
  deadlines: Deadlines;
  leaseEndsAt: number | null;
  tasks: Map<string, TaskRecord>;
  /** Its place in the line for a key: the earlier it began to wait, the lower. */
  place: number | null;
  inbox: InboxRecord[];
  /** Ids of the signals that were taken. */
  seen: Set<string>;
  /** Of the steps in the present stay in the state. */
  memos: Map<string, JsonValue>;
}

export interface OutboxRow {
  readonly event: OutboxEvent;
  readonly notBefore: number;
  /** The store that publishes it, until when no other may. */
  readonly held?: { readonly by: object; readonly until: number };
}

export interface InboxRecord {
  readonly item: InboxItem;
  readonly expiresAt: number | null;
}

export interface TaskRecord {
  readonly task: Task;
  readonly classKey: string;
  readonly deadlines: Deadlines;
  /** Kept for life, so that a retry stands where the task first arrived (S-29). */
  readonly arrival: number;
  /** Counts hand-outs of all tasks. */
  readonly handOut: number;
}

export interface HeldReservation {
  /** Null: it was settled, and stays until it expires. */
  readonly jobId: string | null;
  readonly key: string;
  readonly amount: number;
  readonly expiresAt: number | null;
  readonly until: 'job' | 'wait';
}

/**
 * Records cross the boundary as copies in canonical form, in both directions: nobody can change
 * what is stored by changing what was handed in or out, and every store gives the same text.
 */
export function copyOf<T>(value: T): T {
  return canonicalCopy(value);
}

export function isInQueue({ job }: OpenJob, { task, deadlines }: TaskRecord): boolean {
  return isQueued(task.status, deadlines, job.held);
}
