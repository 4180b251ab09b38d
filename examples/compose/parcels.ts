import { DatabaseSync } from 'node:sqlite';
import type { JobEvent } from 'capataz/server';

export interface ParcelRow {
  readonly job: string;
  readonly client: string;
  readonly state: string;
  /** Signals that it has taken. */
  readonly scans: number;
}

const schema = `
  CREATE TABLE IF NOT EXISTS parcels (
    job TEXT PRIMARY KEY, client TEXT NOT NULL, state TEXT NOT NULL, scans INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS book (
    job TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, PRIMARY KEY (job, seq)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS invoices (parcel TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS feed (only INTEGER PRIMARY KEY CHECK (only = 1), position INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO feed VALUES (1, 0);
`;

/** The application's own tables: what the feed has told of the jobs, and what its handlers keep. */
export class Parcels implements Disposable {
  readonly #database: DatabaseSync;

  constructor(file: string, { readOnly = false }: { readonly readOnly?: boolean } = {}) {
    this.#database = new DatabaseSync(file, { readOnly, timeout: 5_000 });
    if (readOnly) return;
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    this.#database.exec(schema);
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  position(): number {
    return Number(this.#all('SELECT position FROM feed')[0]?.position ?? 0);
  }

  /** Rows and position in one transaction: whatever happens, no event is missing or counted twice. */
  apply(events: readonly JobEvent[], position: number): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const event of events) this.#applyOne(event);
      this.#run('UPDATE feed SET position = ?', position);
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #applyOne({ jobId, client, entry: { seq, type, state } }: JobEvent): void {
    this.#run('INSERT INTO book VALUES (?, ?, ?)', jobId, seq, type);
    if (type === 'job_created') {
      this.#run('INSERT INTO parcels VALUES (?, ?, ?, 0)', jobId, client, state ?? '');
    } else if (type === 'state_entered') {
      this.#run('UPDATE parcels SET state = ? WHERE job = ?', state ?? '', jobId);
    } else if (type === 'signal_taken') {
      this.#run('UPDATE parcels SET scans = scans + 1 WHERE job = ?', jobId);
    }
  }

  inState(state: string, limit: number): ParcelRow[] {
    return this.#all('SELECT * FROM parcels WHERE state = ? LIMIT ?', state, limit).map(rowOf);
  }

  parcel(job: string): ParcelRow | null {
    return this.#all('SELECT * FROM parcels WHERE job = ?', job).map(rowOf)[0] ?? null;
  }

  counts(): Record<string, number> {
    const rows = this.#all('SELECT state, count(*) AS count FROM parcels GROUP BY state');
    return Object.fromEntries(rows.map(({ state, count }) => [String(state), Number(count)]));
  }

  /** What the feed has told of a job, in order. */
  book(job: string): string[] {
    const rows = this.#all('SELECT seq, type FROM book WHERE job = ? ORDER BY seq', job);
    return rows.map(({ seq, type }) => `${seq} ${type}`);
  }

  /** One number a parcel, whoever asks and however often. */
  invoiceNumber(parcel: string): number {
    this.#run(
      'INSERT OR IGNORE INTO invoices SELECT ?, coalesce(max(number), 1000) + 1 FROM invoices',
      parcel,
    );
    const [row] = this.#all('SELECT number FROM invoices WHERE parcel = ?', parcel);
    return Number(row?.number);
  }

  #run(sql: string, ...values: (string | number)[]): void {
    this.#database.prepare(sql).run(...values);
  }

  #all(sql: string, ...values: (string | number)[]) {
    return this.#database.prepare(sql).all(...values);
  }
}

function rowOf({ job, client, state, scans }: Readonly<Record<string, unknown>>): ParcelRow {
  return {
    job: String(job),
    client: String(client),
    state: String(state),
    scans: Number(scans),
  };
}

/** The store as a handler finds it in `job.stores`. */
export function parcelsIn(stores: Readonly<Record<string, unknown>>): Parcels {
  if (stores.parcels instanceof Parcels) return stores.parcels;
  throw new Error('there is no store "parcels"');
}
