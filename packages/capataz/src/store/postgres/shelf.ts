import { canonicalJson } from '../../std/json.ts';
import { columnsOf, type RecordKind, type RecordOf } from '../chest.ts';
import type { Session } from './statements.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Where records of a kind lie in this store. */
export interface Shelf<K extends RecordKind> {
  /** What is counted. */
  readonly from: string;
  /** All of them in their order, with the columns of the record where `recordOf` is missing. */
  readonly read: string;
  readonly recordOf?: (row: Row) => RecordOf<K>;
  /** In the order of the records, by which rows get their numbers. */
  readonly write: (session: Session, records: readonly RecordOf<K>[]) => Promise<void>;
}

export type Shelves = { readonly [K in RecordKind]: Shelf<K> };

const sqlTypes = {
  text: 'text',
  'text?': 'text',
  integer: 'bigint',
  'integer?': 'bigint',
  real: 'double precision',
  boolean: 'boolean',
} as const;

/** Puts JSON rows into a table. `values` are expressions over them, by column. */
export function inserting(
  table: string,
  types: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>> = {},
  otherwise = '',
): (session: Session, rows: readonly object[]) => Promise<void> {
  const names = Object.keys(types);
  const columns = [...new Set([...names, ...Object.keys(values)])];
  const selected = columns.map((name) => values[name] ?? name);
  const recordset = Object.entries(types).map(([name, type]) => `${name} ${type}`);
  const text = `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${selected.join(', ')}
    FROM json_to_recordset($1::json) AS r (${recordset.join(', ')}) ${otherwise}`;
  return async (session, rows) => void (await session.allOf(text, [JSON.stringify(rows)]));
}

export function typesOf(kind: RecordKind): Record<string, string> {
  return Object.fromEntries(columnsOf(kind).map(([name, type]) => [name, sqlTypes[type]]));
}

interface Special {
  /** Expressions by column. */
  readonly reads?: Readonly<Record<string, string>>;
  readonly writes?: Readonly<Record<string, string>>;
}

/** A table whose columns are those of the record, but for some. */
export function plain<K extends RecordKind>(
  kind: K,
  table: string,
  order: string,
  { reads = {}, writes = {} }: Special = {},
): Shelf<K> {
  const columns = columnsOf(kind).map(([name]) =>
    reads[name] === undefined ? name : `${reads[name]} AS ${name}`,
  );
  return {
    from: table,
    read: `SELECT ${columns.join(', ')} FROM ${table} t ORDER BY ${order}`,
    write: inserting(table, typesOf(kind), writes),
  };
}

/** Names are compared byte by byte, as every store can. */
export function named(...columns: readonly string[]): string {
  return columns.map((column) => `${column} COLLATE "C"`).join(', ');
}

export function instants(...names: readonly string[]): Special {
  return {
    reads: {
      ...Object.fromEntries(names.map((name) => [name, `ms(${name})`])),
      payload: 'payload::text',
      metadata: 'metadata::text',
    },
    writes: {
      ...Object.fromEntries(names.map((name) => [name, `instant(${name})`])),
      payload: 'payload::jsonb',
      metadata: 'metadata::jsonb',
    },
  };
}

/** The server keeps JSON in an order of its own. */
export function withCanonical<K extends 'outbox_event' | 'dead_letter'>(shelf: Shelf<K>): Shelf<K> {
  return {
    ...shelf,
    recordOf: ({ payload, metadata, ...row }) =>
      ({
        ...row,
        payload: canonicalText(payload),
        metadata: canonicalText(metadata),
      }) as unknown as RecordOf<K>,
  };
}

function canonicalText(json: unknown): string | null {
  return typeof json === 'string' ? canonicalJson(JSON.parse(json)) : null;
}
