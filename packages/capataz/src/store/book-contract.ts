import type { StoredEntry } from '../core/history.ts';

/** Books as they are read and stored, and as they are moved to another database. */

export interface EventPage {
  readonly events: readonly JobEvent[];
  /** Where to read on. */
  readonly position: number;
}

export interface JobEvent {
  readonly position: number;
  readonly jobId: string;
  readonly client: string;
  readonly correlationId: string;
  readonly entry: StoredEntry;
}

/** The entries of one commit of a job; its sequence is that of the last. */
export interface HistoryRow {
  readonly seq: number;
  readonly at: number;
  readonly count: number;
  readonly entries: string;
}

/**
 * History apart. A commit always writes its entries into the store, so that whoever follows live
 * finds them there. Books of jobs that ended a while ago are moved, row by row, into another database,
 * the archive: written there, then deleted here. A row is known by its position, which a store gives
 * once, so that moving it again changes nothing.
 */

/** The entries of one commit of a job, with what is said of the job wherever they are read. */
export interface BookRow extends HistoryRow {
  readonly position: number;
  readonly jobId: string;
  readonly client: string;
  readonly correlationId: string;
}

/** What is next to be moved. */
export interface BookPage {
  /** Of each book what there is up to a sequence, without gaps. */
  readonly rows: readonly BookRow[];
  /** Where it has come to once these are moved. */
  readonly position: number;
  /** Something may be behind it. */
  readonly more: boolean;
}

export interface MovedBooks extends Pick<BookPage, 'rows' | 'position'> {
  /** Durable in the archive; else they are wanted nowhere. */
  readonly isArchived: boolean;
}

export interface ArchiveMark {
  /** Up to which position books were moved. Nothing behind it lies in the archive. */
  readonly position: number;
  /** The last sequence of the job's book that lies in the archive; 0: nothing of it does. */
  readonly seq: number;
}

/** The verbs of a store that keeps its history apart. */
export interface ArchivingStore {
  /**
   * Rows of books whose jobs ended more than `endedForMs` ago, at most `limit`, and some megabytes. Several
   * instances may be given the same ones.
   */
  booksToMove(endedForMs: number, limit: number): Promise<BookPage>;

  /** Deletes rows that were moved. Their sequences go on where the job still gets entries. May be repeated. */
  booksMoved(books: MovedBooks): Promise<void>;

  /** How far moving has come, for all or also for a job. */
  archived(jobId?: string): Promise<ArchiveMark>;

  /** Jobs that were forgotten and of which the archive has something. */
  forgottenInArchive(limit: number): Promise<string[]>;

  /** The archive has forgotten them, too. */
  archiveForgot(jobIds: readonly string[]): Promise<void>;
}

/**
 * Another database for books. It is opened when it is first asked, so that a server starts without it.
 * All verbs throw CapatazError STORE_UNAVAILABLE while it can't be reached.
 */
export interface Archive {
  /** For messages, without user and password. */
  readonly name: string;

  /**
   * Durable when it resolves. Rows that are there already are passed over.
   * @throws CapatazError CONFIG_INVALID where other rows have their positions: it is another store's.
   */
  write(rows: readonly BookRow[]): Promise<void>;

  /** Entries of one job with a sequence above `after`, ascending, at most `limit`. */
  history(jobId: string, after: number, limit: number): Promise<StoredEntry[]>;

  /** As the store's `events`, up to a position. */
  events(after: number, upTo: number, limit: number): Promise<EventPage>;

  forget(jobIds: readonly string[]): Promise<void>;

  /**
   * Does the work unless another instance is at it: what two do at once is right, and done in vain.
   * @returns whether it was done
   */
  alone(work: () => Promise<void>): Promise<boolean>;

  close(): Promise<void>;
}
