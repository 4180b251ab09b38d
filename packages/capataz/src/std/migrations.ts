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
