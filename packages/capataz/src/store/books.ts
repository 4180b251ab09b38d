import type { BookPage } from './book-contract.ts';
import { bookRowOf, type EventsRow } from './rows.ts';

/** How every store finds the books that are next to be moved. */

/** A page of books stops at about so many bytes, but has one row at least. */
export const maxPageBytes = 4_194_304;

export interface LookedAt {
  readonly position: number;
  readonly id: string;
  readonly at: number;
}

export interface Look {
  /** Whose rows are among them, and may have ended. */
  readonly jobIds: readonly string[];
  /** Of the last of them; null: there is none. */
  readonly position: number | null;
  readonly isFull: boolean;
}

/**
 * Rows behind what was moved, in their order, up to the first that was written after an instant. A job
 * that ended before that instant is seen here by the row that ended it, if not by an earlier one: rows
 * of open jobs are passed over, and go with their whole book when the job's last row is reached.
 */
export function lookOf(rows: readonly LookedAt[], until: number, limit: number): Look {
  const young = rows.findIndex(({ at }) => at > until);
  const old = young === -1 ? rows : rows.slice(0, young);
  return {
    jobIds: [...new Set(old.map(({ id }) => id))],
    position: old.at(-1)?.position ?? null,
    isFull: old.length === limit,
  };
}

/** `total`: of how many rows these are the first. */
export type MovableRow = EventsRow & { readonly total: number };

/** Where it has come to is only moved on when all rows up to there are. */
export function bookPage(found: readonly MovableRow[], look: Look, begun: number): BookPage {
  const isWhole = found.length === (found[0]?.total ?? 0);
  return {
    rows: found.map(bookRowOf),
    position: isWhole ? (look.position ?? begun) : begun,
    more: look.isFull || !isWhole,
  };
}
