/** Primary result codes of SQLite: the machine's troubles, none of which our code can cause. */
const outages: Readonly<Record<number, string>> = {
  5: 'another process holds the database',
  6: 'another connection holds a table',
  8: 'the database is read-only',
  10: 'the disk gave an error',
  11: 'the database is damaged',
  13: 'the disk is full',
  14: 'a file cannot be opened',
  26: 'the file is no database',
};

/** What node:sqlite throws carries SQLite's extended code; its low byte is the primary one. */
function primaryCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null;
}

export function isBusy(error: unknown): boolean {
  return primaryCode(error) === 5;
}

/** @returns why the store can't work at present, or null where the error is a bug. */
export function outage(error: unknown): string | null {
  const code = primaryCode(error);
  return code === null ? null : (outages[code] ?? null);
}
