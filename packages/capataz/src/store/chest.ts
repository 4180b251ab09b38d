/**
 * # What stores hold, in a form that none of them keeps
 *
 * Moving from one store to another (S-50) is reading records here and writing them there. A chest is
 * a store that lies still for that: no server works on it. It is not part of the store's contract,
 * which says what jobs can do; each store on a database has one beside it (`<store>/chest.ts`).
 *
 * Numbers by which a store orders its rows are not carried: records come in that order and are
 * written in it. What can be derived from a record (indexes, classes, attributes) is derived again.
 */

/** Types of a column; `?` may be null. Instants are ms since 1970 UTC. */
type ColumnType = 'text' | 'text?' | 'integer' | 'integer?' | 'real' | 'boolean';

/** A member of a record; JSON stays the text that the store keeps, unless it is said otherwise. */
export type ColumnValue = string | number | boolean | null;

/**
 * Every kind of record with its columns, in the order in which they are moved: a job before what
 * belongs to it. Whoever gives a store another table adds an entry here, and a shelf to each store.
 */
export const recordKinds = {
  blueprint: { name: 'text', version: 'integer', graph: 'text', offered_at: 'integer' },
  worker: { id: 'text', worker: 'text', last_seen_at: 'integer', silent_at: 'integer' },
  /** The whole job as canonical JSON, in the order of their ends. */
  ended_job: { job: 'text' },
  /** Open and quarantined ones, in the order of arrival; `place` is that in the line for a key. */
  open_job: {
    job: 'text',
    timers: 'text',
    lease_until: 'integer?',
    place: 'integer?',
    last_seq: 'integer',
  },
  /** In the order of arrival. */
  task: {
    job: 'text',
    id: 'text',
    status: 'text',
    queued: 'boolean',
    attempts: 'integer',
    attempt_id: 'text?',
    worker: 'text?',
    incarnation: 'text?',
    assigned_at: 'integer?',
    hand_out: 'integer?',
    failures: 'integer',
    lost_runs: 'integer',
    timers: 'text',
    spec: 'text',
  },
  idempotency_key: {
    client: 'text',
    key: 'text',
    body_hash: 'text',
    job: 'text',
    expires_at: 'integer',
    look_at: 'integer',
  },
  /** `job` is null where it was settled and stays booked until it expires. */
  share: {
    key: 'text',
    job: 'text?',
    amount: 'real',
    expires_at: 'integer?',
    until_wait: 'boolean',
  },
  /** In the order of arrival. */
  inbox_item: {
    job: 'text',
    id: 'text',
    kind: 'text',
    name: 'text',
    body: 'text',
    expires_at: 'integer?',
  },
  seen_signal: { job: 'text', id: 'text' },
  address: { client: 'text', key: 'text', job: 'text' },
  /** In the order of arrival. */
  letter: {
    client: 'text',
    key: 'text',
    id: 'text',
    kind: 'text',
    name: 'text',
    body: 'text',
    expires_at: 'integer',
  },
  memo: { job: 'text', name: 'text', value: 'text' },
  /** Payload and metadata as canonical JSON, in the order of the commits. */
  outbox_event: {
    id: 'text',
    aggregate_id: 'text',
    aggregate_type: 'text',
    event_type: 'text',
    payload: 'text',
    metadata: 'text',
    created_at: 'integer',
    retry_count: 'integer',
    last_error: 'text?',
    next_attempt_at: 'integer',
  },
  /** Payload and metadata as canonical JSON, in the order in which they were given up. */
  dead_letter: {
    original_event_id: 'text',
    aggregate_id: 'text',
    aggregate_type: 'text',
    event_type: 'text',
    payload: 'text',
    metadata: 'text?',
    error_message: 'text',
    retry_count: 'integer',
    original_created_at: 'integer',
    moved_at: 'integer',
    resolved_at: 'integer?',
    resolved_by: 'text?',
    resolution_notes: 'text?',
  },
  schedule: {
    name: 'text',
    handled: 'integer',
    paused_at: 'integer?',
    resumed_at: 'integer?',
    changed_by: 'text?',
    recent: 'text',
  },
  /** Rows as the stores keep them: the entries of one commit of a job. */
  history: {
    position: 'integer',
    job: 'text',
    seq: 'integer',
    at: 'integer',
    count: 'integer',
    entries: 'text',
  },
  /** Of books in an archive, which stays where it is; also of jobs that it has still to forget. */
  archived_book: { job: 'text', seq: 'integer', is_forgotten: 'boolean' },
  counter: { name: 'text', value: 'integer' },
  /** What nothing new may fall below: `time`, `position`, and up to where books were `moved`. */
  mark: { name: 'text', value: 'integer' },
} as const satisfies Record<string, Record<string, ColumnType>>;

export type RecordKind = keyof typeof recordKinds;

export const recordKindNames = Object.keys(recordKinds) as readonly RecordKind[];

type ValueOf<T extends ColumnType> = T extends 'text'
  ? string
  : T extends 'text?'
    ? string | null
    : T extends 'integer?'
      ? number | null
      : T extends 'boolean'
        ? boolean
        : number;

export type RecordOf<K extends RecordKind> = {
  readonly [C in keyof (typeof recordKinds)[K]]: (typeof recordKinds)[K][C] extends ColumnType
    ? ValueOf<(typeof recordKinds)[K][C]>
    : never;
};

/** Columns with their types, in the order in which they are hashed. */
export function columnsOf(kind: RecordKind): readonly (readonly [string, ColumnType])[] {
  return Object.entries<ColumnType>(recordKinds[kind]);
}

/** What a move has left written on a store. */
export type MoveMark =
  /** Nothing: it may be used. */
  | { readonly state: 'none' }
  /** Records are being written to it, or that was broken off. */
  | { readonly state: 'incomplete'; readonly move: string; readonly other: string }
  /** All is there and was compared. It is lifted once the source is marked as `moved`. */
  | { readonly state: 'verified'; readonly move: string; readonly other: string }
  /** What it holds lives on elsewhere. */
  | { readonly state: 'moved'; readonly move: string; readonly other: string };

/** A store that lies still: nobody else can open it until it is closed. */
export interface Chest {
  /** As messages name it, without a password. */
  readonly name: string;
  readonly mark: MoveMark;
  /** Whether there is anything of a store, also an empty one. */
  readonly exists: boolean;
  /** How it is emptied by hand, for a message. */
  readonly emptying: string;
  /** Kinds that have records, with their number; none where there is nothing of a store. */
  count(): Promise<ReadonlyMap<RecordKind, number>>;
  /** All records of a kind in their order, in batches that fit into memory. */
  read<K extends RecordKind>(kind: K): AsyncIterable<readonly RecordOf<K>[]>;
  /**
   * Makes it ready to be written to, empty and marked as `incomplete`, before anything is written.
   * What a broken move has left is thrown away.
   */
  begin(move: string, other: string): Promise<void>;
  write<K extends RecordKind>(kind: K, records: readonly RecordOf<K>[]): Promise<void>;
  /** After the last record: what numbers rows goes on behind them. Durable when it resolves. */
  settle(): Promise<void>;
  /** Durable when it resolves. */
  setMark(mark: MoveMark): Promise<void>;
  close(): Promise<void>;
}

/** About how many characters are read or written at once, and how many records. */
export const batchLength = 1_000_000;
export const batchCount = 1_000;
