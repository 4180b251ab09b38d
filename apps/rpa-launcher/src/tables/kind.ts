import type { ColumnDataType, RawBuilder } from 'kysely';
import { sql } from 'kysely';

/** The databases that the tables can lie in. `mssql` is compiled and compared, and not run here. */
export type DatabaseKind = 'sqlite' | 'postgres' | 'mssql';

type ColumnType = ColumnDataType | RawBuilder<unknown>;

/** How each database writes the types of the seed's columns. */
export interface ColumnTypes {
  readonly bit: ColumnType;
  readonly int: ColumnType;
  /** ms since 1970. */
  readonly instant: ColumnType;
  /** Local wall time. */
  readonly local: ColumnType;
  readonly date: ColumnType;
  readonly time: ColumnType;
  text(length: number | 'max'): ColumnType;
}

const sqlite: ColumnTypes = {
  bit: 'integer',
  int: 'integer',
  instant: 'integer',
  local: 'text',
  date: 'text',
  time: 'text',
  text: () => 'text',
};

const postgres: ColumnTypes = {
  // A boolean would be written otherwise in every query.
  bit: 'int2',
  int: 'int4',
  instant: 'int8',
  local: 'timestamp(0)',
  date: 'date',
  time: 'time(0)',
  text: (length) => (length === 'max' ? 'text' : `varchar(${length})`),
};

const mssql: ColumnTypes = {
  bit: sql`bit`,
  int: sql`int`,
  instant: sql`bigint`,
  local: sql`datetime2(0)`,
  date: sql`date`,
  time: sql`time(0)`,
  text: (length) => sql`nvarchar(${sql.raw(String(length))})`,
};

export const columnTypes: Readonly<Record<DatabaseKind, ColumnTypes>> = { sqlite, postgres, mssql };
