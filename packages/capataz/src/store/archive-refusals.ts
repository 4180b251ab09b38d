import { CapatazError } from '../protocol/errors.ts';
import type { AppliedMigration, Migration } from '../std/migrations.ts';

/** How an archive says that it can't work at present. */
export function archiveAway(name: string, why: string, cause?: unknown): CapatazError {
  const message = `The history database ${name} does not answer: ${why}. Jobs go on; books of jobs that ended a while ago lie there.`;
  return new CapatazError('STORE_UNAVAILABLE', message, undefined, cause);
}

export function foreignArchive(name: string): CapatazError {
  const message = `history: ${name} holds the history of another store; name a database, a schema or a file of its own`;
  return new CapatazError('CONFIG_INVALID', message);
}

/** @throws CapatazError CONFIG_INVALID where something else than an archive lies there. */
export function refuseForeign(
  name: string,
  applied: readonly AppliedMigration[],
  own: readonly Migration[],
): void {
  const first = applied.find(({ number }) => number === 1);
  if (first === undefined || first.name === own[0]?.name) return;
  const message = `history: ${name} is no history database but a store of its own; name another place`;
  throw new CapatazError('CONFIG_INVALID', message);
}
