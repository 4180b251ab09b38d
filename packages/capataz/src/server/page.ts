import { jsonWeight } from '../std/json.ts';

/** Weight of one page, about: escaped six-fold, it still is a text (512 Mi) with much room to spare. */
const maxPageWeight = 16 * 1024 * 1024;
/** Records that are read before it is known what one of them weighs. */
const firstPiece = 10;

export interface PageQuery<T> {
  readonly limit: number;
  /** The next records behind the one named, or from the beginning. */
  readonly read: (last: T | undefined, count: number) => Promise<readonly T[]>;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}

/**
 * Reads a page that is cut where it has grown to 16 Mi characters, but always has one record. It is
 * read in pieces, so that what won't be sent is hardly read either.
 */
export async function readPage<T>({ limit, read }: PageQuery<T>): Promise<Page<T>> {
  const items: T[] = [];
  let left = maxPageWeight;
  for (let piece = firstPiece; ; piece = nextPiece(items.length, left)) {
    const count = Math.min(piece, limit + 1 - items.length);
    const found = await read(items.at(-1), count);
    for (const item of found) {
      left -= jsonWeight(item, maxPageWeight);
      const isOver = items.length === limit || (left < 0 && items.length > 0);
      if (isOver) return { items, hasMore: true };
      items.push(item);
    }
    if (found.length < count) return { items, hasMore: false };
  }
}

/** As many as fit if they weigh what the former ones do. */
function nextPiece(read: number, left: number): number {
  const each = (maxPageWeight - left) / read;
  return Math.max(1, Math.floor(left / each));
}
