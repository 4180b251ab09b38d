import type { Write } from './connections.ts';

/** Rows as one JSON text, which the server takes apart. Nothing to write is no statement. */
export function rowsWrite(name: string, rows: readonly object[]): Write[] {
  return rows.length === 0 ? [] : [{ name, parameters: [JSON.stringify(rows)] }];
}

/** Lists of equal length, member by member. */
export function listWrite(
  name: string,
  ...lists: readonly (readonly (string | number)[])[]
): Write[] {
  return lists[0] === undefined || lists[0].length === 0 ? [] : [{ name, parameters: lists }];
}
