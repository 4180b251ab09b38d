import { DatabaseSync } from 'node:sqlite';
import { CapatazError } from 'capataz';
import { type CallRow, callRow } from '../job/record.ts';
import { type AuditRecord, auditRecordSchema, type BookedJob } from './audit-record.ts';

const schema = `
  CREATE TABLE IF NOT EXISTS records (
    job_id TEXT PRIMARY KEY, completed_at TEXT NOT NULL, status TEXT NOT NULL, skill TEXT, tier TEXT,
    client TEXT NOT NULL, batch TEXT, retries INTEGER NOT NULL, cost_nano_usd INTEGER NOT NULL,
    calls INTEGER NOT NULL, unknown_calls INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS records_by_end ON records (completed_at);
  CREATE TABLE IF NOT EXISTS calls (
    request_id TEXT PRIMARY KEY, job_id TEXT NOT NULL, cost_nano_usd INTEGER, call TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS calls_by_job ON calls (job_id);
  CREATE TABLE IF NOT EXISTS feed (only INTEGER PRIMARY KEY CHECK (only = 1), position INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO feed VALUES (1, 0);
`;

/** How long somebody who reads waits for another process. */
const readerBusyMs = 5_000;
/** A server stands still while it waits: it tries again later instead. */
const writerBusyMs = 100;

export interface RecordFilter {
  readonly status?: string | undefined;
  readonly skill?: string | undefined;
  readonly tier?: string | undefined;
  readonly client?: string | undefined;
  readonly batch?: string | undefined;
  /** Ended on or after this day or instant, and before that one; ISO 8601 in UTC. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export const groupings = ['skill', 'tier', 'day', 'client', 'batch', 'status'] as const;
export type Grouping = (typeof groupings)[number];

/** Of some records together. Money is in nano-dollars. */
export interface Totals {
  readonly group: string;
  readonly jobs: number;
  readonly completed: number;
  readonly retries: number;
  readonly calls: number;
  /** Calls of which nobody knows what they cost; `booked` leaves them out. */
  readonly unknownCalls: number;
  readonly cost: number;
  readonly booked: number;
  readonly averageMs: number;
}

/**
 * The audit records and the calls, in a file of the application's own. A projection of the jobs: each
 * server on a shared store has a whole one.
 */
export class Books implements Disposable {
  readonly #database: DatabaseSync;

  /** @throws CapatazError STORE_UNAVAILABLE that names the file and says what to do */
  constructor(file: string, { readOnly = false }: { readonly readOnly?: boolean } = {}) {
    try {
      this.#database = new DatabaseSync(file, { readOnly, timeout: readerBusyMs });
      this.#database.exec('PRAGMA schema_version');
      if (readOnly) return;
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
      this.#database.exec(schema);
      this.#database.exec(`PRAGMA busy_timeout = ${writerBusyMs}`);
    } catch (error) {
      throw unusable(file, error);
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  /** The record of a job, once, whoever writes it and however often: the last word counts. */
  write(booked: BookedJob): void {
    this.#together(() => this.#writeOne(booked));
  }

  /** Up to where the jobs' events are in the books. */
  position(): number {
    return Number(this.#all('SELECT position FROM feed')[0]?.position ?? 0);
  }

  /** Records and position in one transaction. */
  apply(booked: readonly BookedJob[], position: number): void {
    this.#together(() => {
      for (const one of booked) this.#writeOne(one);
      this.#run('UPDATE feed SET position = ?', position);
    });
  }

  record(jobId: string): AuditRecord | null {
    const [row] = this.#all('SELECT record FROM records WHERE job_id = ?', jobId);
    return row === undefined ? null : recordIn(row);
  }

  /** In the order of their ends. */
  *records(filter: RecordFilter = {}, limit = -1): Generator<AuditRecord, void, void> {
    const { sql, values } = conditionOf(filter);
    const statement = this.#database.prepare(
      `SELECT record FROM records WHERE ${sql} ORDER BY completed_at, job_id LIMIT ?`,
    );
    for (const row of statement.iterate(...values, limit)) yield recordIn(row);
  }

  calls(jobId?: string): CallRow[] {
    const rows =
      jobId === undefined
        ? this.#all('SELECT call FROM calls ORDER BY request_id')
        : this.#all('SELECT call FROM calls WHERE job_id = ? ORDER BY request_id', jobId);
    return rows.map(({ call }) => callRow.parse(JSON.parse(String(call))));
  }

  /** Without a grouping one row of all. */
  totals(filter: RecordFilter = {}, grouping?: Grouping): Totals[] {
    const { sql, values } = conditionOf(filter);
    const group = grouping === undefined ? "'all'" : groupColumns[grouping];
    const rows = this.#all(
      `SELECT coalesce(${group}, '-') AS name, count(*) AS jobs,
         sum(status = 'Completed') AS completed, sum(retries) AS retries, sum(calls) AS calls,
         sum(unknown_calls) AS unknown_calls, sum(cost_nano_usd) AS cost,
         avg(duration_ms) AS average_ms,
         sum((SELECT sum(calls.cost_nano_usd) FROM calls WHERE calls.job_id = records.job_id)) AS booked
       FROM records WHERE ${sql} GROUP BY name ORDER BY name`,
      ...values,
    );
    return rows.map((row) => ({
      group: String(row.name),
      jobs: Number(row.jobs),
      completed: Number(row.completed),
      retries: Number(row.retries),
      calls: Number(row.calls),
      unknownCalls: Number(row.unknown_calls),
      cost: Number(row.cost),
      booked: Number(row.booked),
      averageMs: Math.round(Number(row.average_ms)),
    }));
  }

  #writeOne({ record, calls, costNanoUsd }: BookedJob): void {
    const { extra, agent } = record;
    this.#run(
      'INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      ...[record.job_id, record.completed_at, record.status],
      ...[agent?.skill ?? null, agent?.model ?? null, extra.client, extra.batch],
      ...[record.retry_count, costNanoUsd, extra.llm_calls, extra.unknown_calls],
      ...[record.duration_ms, JSON.stringify(record)],
    );
    for (const call of calls) {
      this.#run(
        'INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?)',
        ...[call.request_id, record.job_id, call.cost_nano_usd, JSON.stringify(call)],
      );
    }
  }

  #together(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #run(sql: string, ...values: (string | number | null)[]): void {
    this.#database.prepare(sql).run(...values);
  }

  #all(sql: string, ...values: (string | number | null)[]) {
    return this.#database.prepare(sql).all(...values);
  }
}

const groupColumns: Readonly<Record<Grouping, string>> = {
  skill: 'skill',
  tier: 'tier',
  day: 'substr(completed_at, 1, 10)',
  client: 'client',
  batch: 'batch',
  status: 'status',
};

function unusable(file: string, error: unknown): CapatazError {
  const why = error instanceof Error ? error.message : String(error);
  return new CapatazError(
    'STORE_UNAVAILABLE',
    `the books ${file} cannot be used: ${why}. Where the file is moved away, the next start of a server makes it anew from the jobs that the store still has.`,
  );
}

function conditionOf({ since, until, ...equal }: RecordFilter) {
  const conditions = [
    // Compared as texts, which must be of one form.
    ...(since === undefined ? [] : [{ sql: 'completed_at >= ?', value: instant(since) }]),
    ...(until === undefined ? [] : [{ sql: 'completed_at < ?', value: instant(until) }]),
    // The names are those of `RecordFilter`, which are columns.
    ...Object.entries(equal).flatMap(([name, value]) =>
      value === undefined ? [] : [{ sql: `${name} = ?`, value }],
    ),
  ];
  return {
    sql: ['1 = 1', ...conditions.map(({ sql }) => sql)].join(' AND '),
    values: conditions.map(({ value }) => value),
  };
}

function instant(text: string): string {
  return new Date(text).toISOString();
}

function recordIn({ record }: Readonly<Record<string, unknown>>): AuditRecord {
  return auditRecordSchema.parse(JSON.parse(String(record)));
}
