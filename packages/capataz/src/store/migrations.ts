import { readdirSync, readFileSync } from 'node:fs';
import { CapatazError } from '../protocol/errors.ts';

/** A step of the schema. Once released it never changes; a test keeps the list of checksums. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  /** Programs that don't know it can't work on the schema. */
  readonly breaking: boolean;
}

/** Those of a folder, in order. */
export function migrationsIn(folder: URL): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return names.sort().map((name) => {
    const text = readFileSync(new URL(name, folder), 'utf8');
    return {
      number: Number(name.slice(0, 4)),
      name,
      text,
      breaking: text.startsWith('-- breaking: yes\n'),
    };
  });
}

/** As the store itself remembers it. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly breaking: boolean;
}

/**
 * Those that a store lacks, in order.
 * @throws CapatazError STORE_NEWER when a later program changed it in a way that this one can't read.
 */
export function pendingOf(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): Migration[] {
  const newest = known.at(-1)?.number ?? 0;
  const foreign = applied.find(({ number, breaking }) => number > newest && breaking);
  if (foreign !== undefined) {
    throw new CapatazError(
      'STORE_NEWER',
      `The store was changed by a newer version (migration ${foreign.name}), and this one can't read it: use the newer version.`,
      { migration: foreign.name },
    );
  }
  const done = new Set(applied.map(({ number }) => number));
  return known.filter(({ number }) => !done.has(number));
}
