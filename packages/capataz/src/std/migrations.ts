import { readdirSync, readFileSync } from 'node:fs';

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

/** As a schema itself remembers it. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly breaking: boolean;
}

/** A later program changed the schema in a way that this one can't read. */
export class SchemaNewer extends Error {
  readonly migration: string;

  constructor(migration: string) {
    super(
      `was changed by a newer version (migration ${migration}), and this one can't read it: use the newer version.`,
    );
    this.migration = migration;
  }
}

/** Those that a schema lacks, in order. @throws SchemaNewer */
export function pendingOf(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): Migration[] {
  const newest = known.at(-1)?.number ?? 0;
  const foreign = applied.find(({ number, breaking }) => number > newest && breaking);
  if (foreign !== undefined) throw new SchemaNewer(foreign.name);
  const done = new Set(applied.map(({ number }) => number));
  return known.filter(({ number }) => !done.has(number));
}
