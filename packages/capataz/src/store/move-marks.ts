import { CapatazError } from '../protocol/errors.ts';
import type { Migration } from '../std/migrations.ts';
import type { MoveMark } from './chest.ts';

/** A row of the table `moves`, which holds one at most. */
export interface MoveRow {
  readonly state: string;
  readonly move: string;
  readonly other: string;
}

export function moveMarkOf(row: MoveRow | undefined): MoveMark {
  if (row === undefined) return { state: 'none' };
  const { state, move, other } = row;
  // Written by a move and by nothing else.
  return { state, move, other } as MoveMark;
}

/**
 * What a server says to a store that a move has marked.
 * @throws CapatazError STORE_MOVED, STORE_INCOMPLETE
 */
export function refuseMarked(name: string, row: MoveRow | undefined): void {
  const mark = moveMarkOf(row);
  if (mark.state === 'none') return;
  const { other, state } = mark;
  const details = { store: name, other };
  if (state === 'moved') {
    const message = `${name} was moved to ${other}: use that one. What lies here is what was left behind.`;
    throw new CapatazError('STORE_MOVED', message, details);
  }
  const message = `The move from ${other} to ${name} was broken off: run the same \`capataz move\` again, or go on with ${other}.`;
  throw new CapatazError('STORE_INCOMPLETE', message, details);
}

/** A move changes nothing of its source, so that it does not migrate either. */
export function lacksMigrations(name: string, pending: readonly Migration[]): CapatazError {
  const names = pending.map((migration) => migration.name).join(', ');
  const message = `${name} lacks migrations (${names}): run \`capataz migrate\` on it first`;
  return new CapatazError('CONFIG_INVALID', message, { store: name });
}
