import { parseDuration } from '../std/duration.ts';
import { cleanJson, type JsonObject } from '../std/json.ts';
import { nearest } from '../std/nearest.ts';
import type { Problems } from './problems.ts';
import { isTable, kindOf, readToml, type TomlTable } from './toml.ts';

export interface EntrySource {
  readonly file: string;
  /** As it stands between the brackets. */
  readonly name: string;
  readonly table: TomlTable;
  readonly problems: Problems;
}

/** The tables of a file, each with its name; what is no table is noted as a problem. */
export function tomlEntries(file: string, problems: Problems): EntrySource[] {
  return tablesIn(readToml(file, problems) ?? {}, { file, prefix: '', problems });
}

/** The same of a table that holds tables, whose names begin with its own. */
export function tablesIn(
  table: TomlTable,
  { file, prefix, problems }: { file: string; prefix: string; problems: Problems },
): EntrySource[] {
  const entries: EntrySource[] = [];
  for (const [key, value] of Object.entries(table)) {
    const name = `${prefix}${key}`;
    if (isTable(value)) entries.push({ file, name, table: value, problems });
    else problems.add(`${file}: ${name}`, `must be a table ([${name}]), not ${kindOf(value)}`);
  }
  return entries;
}

/**
 * One table of a file, with the place for its problems. A field that is not there and one that is
 * wrong are undefined alike: the problem is noted, and the reader goes on to find the others.
 */
export class TomlEntry {
  readonly name: string;
  protected readonly file: string;
  protected readonly table: TomlTable;
  readonly #problems: Problems;

  constructor({ file, name, table, problems }: EntrySource) {
    this.file = file;
    this.name = name;
    this.table = table;
    this.#problems = problems;
  }

  problem(field: string | null, message: string): void {
    const place = `${this.file}: [${this.name}]`;
    this.#problems.add(field === null ? place : `${place} ${field}`, message);
  }

  /** @param hints what to say of keys that others know and we don't */
  checkKeys(known: readonly string[], hints: Readonly<Record<string, string>> = {}): void {
    for (const key of Object.keys(this.table)) {
      if (known.includes(key)) continue;
      const meant = nearest(key, known);
      const hint = meant === null ? '' : `; did you mean ${meant}?`;
      this.problem(key, hints[key] ?? `is unknown here${hint}`);
    }
  }

  has(field: string): boolean {
    return this.table[field] !== undefined;
  }

  value(field: string): unknown {
    return this.table[field];
  }

  string(field: string): string | undefined {
    const value = this.table[field];
    if (value === undefined || typeof value === 'string') return value;
    return this.#wrong(field, 'a string');
  }

  boolean(field: string): boolean | undefined {
    const value = this.table[field];
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#wrong(field, 'true or false');
  }

  integer(field: string, [least, most]: readonly [number, number]): number | undefined {
    const value = this.table[field];
    if (value === undefined) return undefined;
    const isWhole = typeof value === 'number' && Number.isInteger(value);
    if (isWhole && value >= least && value <= most) return value;
    if (!isWhole) return this.#wrong(field, 'a whole number');
    this.problem(field, `must be from ${least} to ${most}, not ${value}`);
    return undefined;
  }

  /** In ms. */
  duration(field: string): number | undefined {
    const value = this.table[field];
    if (value === undefined) return undefined;
    if (typeof value !== 'string') return this.#wrong(field, 'a duration like "10s"');
    const ms = parseDuration(value);
    if (ms === undefined) {
      this.problem(field, `must be a duration like 10s, 5m or 1h30m, not "${value}"`);
    }
    return ms;
  }

  choice<T extends string>(field: string, choices: readonly T[]): T | undefined {
    const text = this.string(field);
    if (text === undefined) return undefined;
    const chosen = choices.find((choice) => choice === text);
    if (chosen === undefined) {
      this.problem(field, `must be one of ${choices.join(', ')}, not "${text}"`);
    }
    return chosen;
  }

  strings(field: string): readonly string[] | undefined {
    const value = this.table[field];
    if (value === undefined) return undefined;
    const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
    return isList ? value : this.#wrong(field, 'a list of strings');
  }

  object(field: string): JsonObject | undefined {
    const value = this.table[field];
    if (value === undefined) return undefined;
    // Dates become their text, by `toJSON`.
    if (isTable(value)) return cleanJson(value) as JsonObject;
    return this.#wrong(field, 'a table');
  }

  #wrong(field: string, wanted: string): undefined {
    this.problem(field, `must be ${wanted}, not ${kindOf(this.table[field])}`);
    return undefined;
  }
}
