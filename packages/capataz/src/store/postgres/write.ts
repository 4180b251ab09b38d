import { bigint, type Encoder, text } from './columns.ts';
import type { Write } from './connections.ts';

/** The columns of a statement, in the order of its parameters. */
export type Columns<Row> = { readonly [Name in keyof Row]: Encoder<Row[Name]> };

/** Rows as one array a column. Nothing to write is no statement. */
export function rowsWrite<Row extends object>(
  name: string,
  rows: readonly Row[],
  columns: Columns<Row>,
): Write[] {
  if (rows.length === 0) return [];
  const parameters = (Object.keys(columns) as (keyof Row)[]).map((column) =>
    columns[column](rows.map((row) => row[column])),
  );
  return [{ name, parameters }];
}

/** Lists of equal length, member by member; each of one kind. */
export function listWrite(
  name: string,
  ...lists: readonly (readonly string[] | readonly number[])[]
): Write[] {
  if (lists[0] === undefined || lists[0].length === 0) return [];
  return [{ name, parameters: lists.map(listOf) }];
}

export function listOf(list: readonly string[] | readonly number[]): Buffer {
  return isNumbers(list) ? bigint(list) : text(list);
}

function isNumbers(list: readonly string[] | readonly number[]): list is readonly number[] {
  return typeof list[0] === 'number';
}
