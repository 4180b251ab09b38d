import type { Log } from 'capataz/server';
import type { z } from 'zod';
import type { Calls } from './calls.ts';
import { ControlRoomError } from './contract.ts';
import { type Filter, pageSchema } from './wire.ts';

export interface ListOptions {
  readonly calls: Calls;
  readonly log: Log;
  readonly pageSize: number;
  readonly maxPages: number;
}

export interface ListQuery<T> {
  readonly path: string;
  readonly filter?: Filter;
  /** Rows that do not fit are left out, with a warning. */
  readonly schema: z.ZodType<T>;
  /** Rows may move between pages while they are read: each id counts once. */
  readonly idOf: (row: T) => string | number;
  readonly sort?: 'asc' | 'desc';
}

/** All pages, or an error: half a list would be merged as if the rest were gone. @throws ControlRoomError */
export async function readList<T>(options: ListOptions, query: ListQuery<T>): Promise<T[]> {
  // Rows that came or went meanwhile have moved the others over the edges of pages: that happens once.
  const rows = (await readPages(options, query)) ?? (await readPages(options, query));
  if (rows !== null) return rows;
  throw new ControlRoomError('refused', `${query.path}: rows come twice, and others not at all`);
}

/** @returns null where rows have come twice in place of others */
async function readPages<T>(options: ListOptions, query: ListQuery<T>): Promise<T[] | null> {
  const { calls, log, pageSize, maxPages } = options;
  const { path, filter, sort = 'asc' } = query;
  const rows = new Map<string | number, T>();
  let unfit = 0;
  let offset = 0;
  for (let page = 0; page < maxPages; page += 1) {
    const answer = await calls.read(path, {
      ...(filter === undefined ? {} : { filter }),
      sort: [{ field: 'id', direction: sort }],
      page: { offset, length: pageSize },
    });
    const { list, total } = pageOf(path, answer);
    for (const item of list) {
      const row = query.schema.safeParse(item);
      if (row.success) rows.set(query.idOf(row.data), row.data);
      else unfit += 1;
    }
    offset += list.length;
    const isLast = total === null ? list.length === 0 : offset >= total;
    if (!isLast && list.length === 0)
      throw new ControlRoomError(
        'refused',
        `${path}: ${offset} rows of ${total}, and no more come`,
      );
    if (isLast) {
      if (total !== null && rows.size + unfit < total) return null;
      if (unfit > 0) log.warn('rows of the Control Room were left out', { path, rows: unfit });
      return [...rows.values()];
    }
  }
  throw new ControlRoomError('refused', `${path}: more than ${maxPages} pages`);
}

function pageOf(path: string, answer: unknown) {
  const parsed = pageSchema.safeParse(answer);
  if (!parsed.success) throw new ControlRoomError('refused', `${path}: the answer is no list`);
  return { list: parsed.data.list, total: parsed.data.page?.totalFilter ?? null };
}
