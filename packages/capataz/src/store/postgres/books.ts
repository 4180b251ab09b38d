import type { ArchiveMark, BookPage, MovedBooks } from '../book-contract.ts';
import { bookPage, type LookedAt, lookOf, type MovableRow, maxPageBytes } from '../books.ts';
import type { Connections } from './connections.ts';
import { listWrite } from './write.ts';

/** `given` is the instant of a test, null where the server's counts. */
export function booksToMove(
  connections: Connections,
  given: number | null,
  endedForMs: number,
  limit: number,
): Promise<BookPage> {
  // What the first statement calls visible the later ones have to see.
  return connections.together(async (session) => {
    const [now, marks] = await Promise.all([
      session.all<{ at: number }>('now', given),
      session.all<ArchiveMark>('read-archived', null),
      session.all('visible-position'),
    ]);
    const until = (now[0]?.at ?? 0) - endedForMs;
    const begun = marks[0]?.position ?? 0;
    const behind = await session.all<LookedAt>('books-behind', begun, limit);
    const look = lookOf(behind, until, limit);
    const range = [until, look.position ?? begun, limit, maxPageBytes] as const;
    return bookPage(
      await session.all<MovableRow>('books-to-move', look.jobIds, ...range),
      look,
      begun,
    );
  }, 'each');
}

/** With the lock of forgetting: a job is either there, or known to be gone. */
export function booksMoved(
  connections: Connections,
  { rows, position, isArchived }: MovedBooks,
  given: number | null,
): Promise<void> {
  return connections.transaction(async (session) => {
    const [, , began] = await Promise.all([
      session.begin(),
      session.all('lock-forgetting'),
      session.all<{ at: number }>('begin', given, false, false),
    ]);
    // Of each job the last row counts.
    const seqs = new Map(isArchived ? rows.map(({ jobId, seq }) => [jobId, seq]) : []);
    const writes = [
      ...listWrite(
        'books-drop',
        rows.map((row) => row.position),
      ),
      ...listWrite('books-archived', [...seqs.keys()], [...seqs.values()]),
      { name: 'mark-raise', parameters: ['moved', position] },
      // What goes may have held the latest instant.
      { name: 'mark-raise', parameters: ['time', began[0]?.at ?? 0] },
    ];
    return { result: undefined, writes };
  });
}

export async function archiveMark(connections: Connections, jobId?: string): Promise<ArchiveMark> {
  const [mark] = await connections.read<ArchiveMark>('read-archived', jobId ?? null);
  return mark ?? { position: 0, seq: 0 };
}
