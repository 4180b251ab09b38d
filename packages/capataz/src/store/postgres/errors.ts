import { sqlState } from '../../postgres/errors.ts';

/** What another instance's commit got in the way of: nothing was stored, and it may be done again. */
const conflicts: ReadonlySet<string> = new Set(['23505', '40001', '40P01']);

/** A row of the history lies behind the last partition: the only thing that our tables check. */
export function isBeyondPartitions(error: unknown): boolean {
  return sqlState(error) === '23514';
}

/** What was locked is not all that was needed. */
export class LockedTooLittle extends Error {}

function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  return error instanceof LockedTooLittle || (state !== null && conflicts.has(state));
}

/** One of two that get in each other's way always gets through. */
const maxTries = 20;

/** Does it anew where another instance got in the way. */
export async function withoutConflict<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || tried === maxTries) throw error;
    }
  }
}
