import type { ArchiveMark, BookPage, MovedBooks } from '../book-contract.ts';
import { bookPage, type LookedAt, lookOf, type MovableRow } from '../books.ts';
import type { JobEvent } from '../contract.ts';
import { copyOf, type MemoryData } from './data.ts';

export function booksToMove(data: MemoryData, until: number, limit: number): BookPage {
  const begun = data.moved;
  const behind = data.feed.slice(begun).flatMap(([first]): LookedAt[] => {
    if (first === undefined) return [];
    const { position, jobId, entry } = first;
    return [{ position, id: jobId, at: entry.at }];
  });
  const look = lookOf(behind.slice(0, limit), until, limit);
  const ended = new Set(look.jobIds.filter((id) => isMovable(data, id, until)));
  const rows = data.feed
    .slice(0, look.position ?? 0)
    .filter(([first]) => first !== undefined && ended.has(first.jobId));
  const found = rows.slice(0, limit).map((row) => ({ ...movableRow(row), total: rows.length }));
  return bookPage(found, look, begun);
}

/** Of an id that was taken anew the archive has to forget the old book first. */
function isMovable(data: MemoryData, id: string, until: number): boolean {
  const job = data.ended.get(id);
  const isThere = job !== undefined && (job.endedAt ?? until) <= until;
  return isThere && data.archived.get(id)?.isForgotten !== true;
}

function movableRow(row: readonly JobEvent[]): Omit<MovableRow, 'total'> {
  const [first] = row;
  const last = row.at(-1);
  if (first === undefined || last === undefined) throw new Error('a row has an entry');
  const { position, jobId: id, client, correlationId: correlation } = first;
  const { at, seq } = last.entry;
  const entries = row.map(({ entry: { seq: _, at: __, ...entry } }) => entry);
  const text = JSON.stringify(copyOf(entries));
  return { position, id, client, correlation, seq, at, count: row.length, entries: text };
}

export function booksMoved(data: MemoryData, { rows, position, isArchived }: MovedBooks): void {
  for (const row of rows) {
    const { jobId, seq } = row;
    data.feed[row.position - 1] = [];
    const book = data.books.get(jobId)?.filter((entry) => entry.seq > seq) ?? [];
    if (book.length === 0) data.books.delete(jobId);
    else data.books.set(jobId, book);
    if (!isArchived) continue;
    const known = data.archived.get(jobId);
    data.archived.set(jobId, {
      seq: Math.max(seq, known?.seq ?? 0),
      isForgotten: known?.isForgotten === true || !data.ended.has(jobId),
    });
  }
  data.moved = Math.max(data.moved, position);
}

export function archiveMark(data: MemoryData, jobId?: string): ArchiveMark {
  return { position: data.moved, seq: jobId === undefined ? 0 : data.archivedSeq(jobId) };
}

export function forgottenInArchive(data: MemoryData, limit: number): string[] {
  const forgotten = [...data.archived].filter(([, { isForgotten }]) => isForgotten);
  return forgotten.slice(0, limit).map(([id]) => id);
}

export function archiveForgot(data: MemoryData, jobIds: readonly string[]): void {
  for (const id of jobIds) {
    if (data.archived.get(id)?.isForgotten === true) data.archived.delete(id);
  }
}
