import type { ArchiveMark, BookPage, MovedBooks } from '../book-contract.ts';
import { bookPage, type LookedAt, lookOf, type MovableRow, maxPageBytes } from '../books.ts';
import type { MovedMessage } from './messages.ts';
import type { Reads } from './reads.ts';
import type { WriterState } from './writer-state.ts';

export function booksToMove(reads: Reads, until: number, limit: number): BookPage {
  const { statements } = reads;
  return reads.together(() => {
    const { position: begun } = archiveMark(reads);
    const look = lookOf(statements.all<LookedAt>('books-behind', begun, limit), until, limit);
    const ids = JSON.stringify(look.jobIds);
    const range = [until, look.position ?? begun, limit, maxPageBytes] as const;
    return bookPage(statements.all<MovableRow>('books-to-move', ids, ...range), look, begun);
  });
}

export function archiveMark({ statements }: Reads, jobId?: string): ArchiveMark {
  return { ...statements.one<ArchiveMark>('read-archived', jobId ?? null) };
}

export function movedMessage({ rows, position, isArchived }: MovedBooks): MovedMessage {
  const positions = rows.map((row) => row.position);
  // Of each job the last row counts.
  const seqs = new Map(rows.map(({ jobId, seq }) => [jobId, seq]));
  return { type: 'books_moved', positions, archived: isArchived ? [...seqs] : [], position };
}

export function booksMoved(
  state: WriterState,
  { positions, archived, position }: MovedMessage,
  at: number,
): void {
  const { statements } = state;
  statements.run('books-drop', JSON.stringify(positions));
  for (const [job, seq] of archived) statements.run('book-archived', job, seq);
  statements.run('mark-raise', 'moved', position);
  // What goes may have held the latest of both.
  statements.run('mark-raise', 'time', at);
  state.keepPosition();
}
