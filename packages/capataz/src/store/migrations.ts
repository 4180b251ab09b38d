import { CapatazError } from '../protocol/errors.ts';
import {
  type AppliedMigration,
  type Migration,
  pendingOf as pendingIn,
  SchemaNewer,
} from '../std/migrations.ts';

/** Those that a store lacks, in order. @throws CapatazError STORE_NEWER */
export function pendingOf(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): Migration[] {
  try {
    return pendingIn(applied, known);
  } catch (error) {
    throw storeNewer(error);
  }
}

/** As a store refuses it. */
export function storeNewer(error: unknown): unknown {
  if (!(error instanceof SchemaNewer)) return error;
  const { message, migration } = error;
  return new CapatazError('STORE_NEWER', `The store ${message}`, { migration }, error);
}
