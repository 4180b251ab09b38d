import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JsonObject } from 'capataz';

/** An order as it was noted. */
export interface Order {
  /** The event's id. */
  readonly id: string;
  readonly task: string;
  /** `tarea.generar_plan`, … */
  readonly name: string;
  /** What tells a repetition from a new order: an order with the same key asks for the same work. */
  readonly key: string;
  /** The attempt it belongs to, or null where the orchestrator counts none. */
  readonly attempt: number | null;
  readonly payload: JsonObject;
  readonly correlationId: string;
}

export interface Run extends Order {
  /** How often its work was begun, this time included; above 1 after a crash. */
  readonly starts: number;
}

/** What a run says in the end. Its id stays, so that whoever has it already can tell. */
export interface Result {
  readonly id: string;
  readonly run: string;
  readonly task: string;
  readonly name: string;
  readonly payload: JsonObject;
  readonly correlationId: string;
}

export type Noted =
  | { readonly is: 'new'; readonly superseded: readonly string[] }
  | { readonly is: 'running' }
  | { readonly is: 'done'; readonly results: readonly Result[] }
  /** Of an attempt that a later one has replaced. */
  | { readonly is: 'outdated' };

/**
 * What a performer must not forget: the orders it has acknowledged and not finished, what it has to
 * say and has not said yet, and what it knows of each task. One SQLite file. It belongs to one
 * process, because two would kill each other's agents: a second one is refused.
 */
export interface Ledger {
  /** Notes an order, or says what became of it. What it replaces is closed in the same transaction. */
  note(order: Order, now: number): Noted;
  /** Orders whose work is not finished, oldest first. */
  open(): readonly Run[];
  /** Its service stops in good order: this start does not count. */
  interrupted(runId: string): void;
  /** Counts a start. @returns null where the run was closed meanwhile. */
  begin(runId: string): Run | null;
  /**
   * Closes a run, with what it says and what is known of the task from now on.
   * @returns false where it was closed meanwhile: then nothing of it counts.
   */
  finish(runId: string, end: RunEnd, now: number): boolean;
  /** Closes all runs of a task without a word. @returns their ids */
  drop(task: string, now: number): readonly string[];
  unpublished(): readonly Result[];
  published(resultId: string): void;
  /** What the task's last run said, if it has ended. */
  lastResults(task: string): readonly Result[];
  /** The task's own facts, or null. */
  task(task: string): JsonObject | null;
  saveTask(task: string, facts: JsonObject): void;
  /** Tasks that were last heard of before then, and have nothing open, are forgotten. */
  forgetBefore(time: number): void;
  /** Harmless when it is closed. */
  close(): void;
}

export interface RunEnd {
  readonly result: Omit<Result, 'run' | 'task' | 'correlationId'> | null;
  readonly facts: JsonObject | null;
}

const schema = `
create table if not exists tasks (
  task text primary key, facts text not null
) strict;
create table if not exists runs (
  id text primary key, task text not null, name text not null, key text not null,
  attempt integer, payload text not null, correlation text not null,
  starts integer not null default 0, is_open integer not null default 1, changed_at integer not null,
  unique (task, key)
) strict;
create index if not exists runs_open on runs (task) where is_open = 1;
create table if not exists results (
  id text primary key, run text not null, task text not null, name text not null,
  payload text not null, correlation text not null, is_published integer not null default 0
) strict;
create index if not exists results_unpublished on results (id) where is_published = 0;
`;

interface RunRow {
  readonly id: string;
  readonly task: string;
  readonly name: string;
  readonly key: string;
  readonly attempt: number | null;
  readonly payload: string;
  readonly correlation: string;
  readonly starts: number;
  readonly is_open: number;
}

interface ResultRow {
  readonly id: string;
  readonly run: string;
  readonly task: string;
  readonly name: string;
  readonly payload: string;
  readonly correlation: string;
}

/** @throws Error where another process holds the folder. */
export function openLedger(folder: string): Ledger {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(join(folder, 'ledger.sqlite'));
  try {
    database.exec('pragma locking_mode = exclusive; pragma journal_mode = wal;');
    database.exec('pragma synchronous = full; begin immediate;');
    database.exec(schema);
    database.exec('commit');
  } catch (error) {
    database.close();
    const isHeld = error instanceof Error && /locked|busy/.test(error.message);
    if (!isHeld) throw error;
    throw new Error(`${folder}: another process works with this folder`, { cause: error });
  }
  return new SqliteLedger(database);
}

class SqliteLedger implements Ledger {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  note(order: Order, now: number): Noted {
    return this.#atomically(() => {
      const same = this.#runs('task = ? and key = ?', order.task, order.key)[0];
      if (same?.is_open === 1) return { is: 'running' };
      if (same !== undefined) return { is: 'done', results: this.#results('run = ?', same.id) };
      const latest = this.#latestAttempt(order.task);
      if (order.attempt !== null && latest !== null && order.attempt < latest) {
        return { is: 'outdated' };
      }
      const superseded = this.#close(order.task, now);
      this.#change(
        `insert into runs (id, task, name, key, attempt, payload, correlation, changed_at)
         values (?, ?, ?, ?, ?, ?, ?, ?)`,
        order.id,
        order.task,
        order.name,
        order.key,
        order.attempt,
        JSON.stringify(order.payload),
        order.correlationId,
        now,
      );
      return { is: 'new', superseded };
    });
  }

  open(): readonly Run[] {
    return this.#runs('is_open = 1 order by rowid').map(runOf);
  }

  begin(runId: string): Run | null {
    return this.#atomically(() => {
      this.#change('update runs set starts = starts + 1 where id = ? and is_open = 1', runId);
      const row = this.#runs('id = ? and is_open = 1', runId)[0];
      return row === undefined ? null : runOf(row);
    });
  }

  interrupted(runId: string): void {
    this.#change('update runs set starts = starts - 1 where id = ? and is_open = 1', runId);
  }

  finish(runId: string, { result, facts }: RunEnd, now: number): boolean {
    return this.#atomically(() => {
      const row = this.#runs('id = ? and is_open = 1', runId)[0];
      if (row === undefined) return false;
      this.#change('update runs set is_open = 0, changed_at = ? where id = ?', now, runId);
      if (facts !== null) this.saveTask(row.task, facts);
      if (result === null) return true;
      this.#change(
        'insert into results (id, run, task, name, payload, correlation) values (?, ?, ?, ?, ?, ?)',
        result.id,
        runId,
        row.task,
        result.name,
        JSON.stringify(result.payload),
        row.correlation,
      );
      return true;
    });
  }

  drop(task: string, now: number): readonly string[] {
    return this.#atomically(() => this.#close(task, now));
  }

  unpublished(): readonly Result[] {
    return this.#results('is_published = 0 order by rowid');
  }

  published(resultId: string): void {
    this.#change('update results set is_published = 1 where id = ?', resultId);
  }

  lastResults(task: string): readonly Result[] {
    return this.#results(
      'run = (select id from runs where task = ? order by rowid desc limit 1)',
      task,
    );
  }

  task(task: string): JsonObject | null {
    const row = this.#database.prepare('select facts from tasks where task = ?').get(task);
    return row === undefined ? null : JSON.parse(String(row.facts));
  }

  saveTask(task: string, facts: JsonObject): void {
    this.#change(
      'insert into tasks values (?, ?) on conflict (task) do update set facts = excluded.facts',
      task,
      JSON.stringify(facts),
    );
  }

  forgetBefore(time: number): void {
    this.#atomically(() => {
      const old = `select task from runs group by task having max(changed_at) < ? and max(is_open) = 0`;
      this.#change(`delete from results where is_published = 1 and task in (${old})`, time);
      const said = `task in (${old}) and task not in (select task from results)`;
      this.#change(`delete from tasks where ${said}`, time);
      this.#change(`delete from runs where ${said}`, time);
    });
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #close(task: string, now: number): string[] {
    const ids = this.#runs('task = ? and is_open = 1', task).map(({ id }) => id);
    this.#change(
      'update runs set is_open = 0, changed_at = ? where task = ? and is_open = 1',
      now,
      task,
    );
    return ids;
  }

  #latestAttempt(task: string): number | null {
    const row = this.#database
      .prepare('select max(attempt) as attempt from runs where task = ?')
      .get(task);
    return typeof row?.attempt === 'number' ? row.attempt : null;
  }

  #runs(condition: string, ...values: readonly string[]): RunRow[] {
    // SQLite's strict tables hold what the schema says.
    return this.#database
      .prepare(`select * from runs where ${condition}`)
      .all(...values) as unknown as RunRow[];
  }

  #results(condition: string, ...values: readonly string[]): Result[] {
    const rows = this.#database
      .prepare(`select * from results where ${condition}`)
      .all(...values) as unknown as ResultRow[];
    return rows.map(({ id, run, task, name, payload, correlation }) => ({
      id,
      run,
      task,
      name,
      payload: JSON.parse(payload),
      correlationId: correlation,
    }));
  }

  #change(sql: string, ...values: readonly (string | number | null)[]): void {
    this.#database.prepare(sql).run(...values);
  }

  #atomically<T>(work: () => T): T {
    this.#database.exec('begin immediate');
    try {
      const value = work();
      this.#database.exec('commit');
      return value;
    } catch (error) {
      // SQLite has done so itself where the disk is full.
      if (this.#database.isTransaction) this.#database.exec('rollback');
      throw error;
    }
  }
}

function runOf(row: RunRow): Run {
  return {
    id: row.id,
    task: row.task,
    name: row.name,
    key: row.key,
    attempt: row.attempt,
    payload: JSON.parse(row.payload),
    correlationId: row.correlation,
    starts: row.starts,
  };
}
