import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { nearest } from '../std/nearest.ts';
import type { Problems } from './problems.ts';
import { fileKey, type Setting, type SettingTableValue } from './setting.ts';
import { isTable, kindOf, type TomlTable } from './toml.ts';
import { parseFileValue } from './values.ts';

export interface TablesPlace {
  readonly file: string;
  /** As it stands between the brackets. */
  readonly key: string;
  /** Where relative paths start. */
  readonly base: string;
  readonly problems: Problems;
}

/** Reads the `[[key]]` of a file, noting everything that is wrong with table and field. */
export function readTables(
  { fields = {} }: Setting,
  value: unknown,
  place: TablesPlace,
): SettingTableValue[] {
  const { file, key, problems } = place;
  if (!Array.isArray(value) || !value.every(isTable)) {
    problems.add(`${file}: ${key}`, `must be tables ([[${key}]]), not ${kindOf(value)}`);
    return [];
  }
  return value.map((table: TomlTable, index) => {
    const where = `${file}: [[${key}]] ${index + 1}`;
    checkKeys(table, Object.keys(fields).map(fileKey), { where, problems });
    return Object.fromEntries(
      Object.entries(fields).map(([name, field]) => {
        const given = table[fileKey(name)] ?? field.default;
        const at = { ...place, where: `${where} ${fileKey(name)}` };
        return [name, given === null ? null : fieldValue(field, given, at)];
      }),
    );
  });
}

function fieldValue(
  field: Setting,
  given: unknown,
  { where, base, problems }: TablesPlace & { readonly where: string },
): string | number | boolean | null {
  const parsed = parseFileValue(field, given);
  if (!parsed.ok) {
    problems.add(where, parsed.problem);
    return null;
  }
  // A table has no tables in it.
  const value = parsed.value as string | number | boolean;
  if (field.type !== 'path' && field.type !== 'folder') return value;
  const path = resolve(base, String(value));
  if (field.type === 'path' && !existsSync(path)) problems.add(where, `${path} does not exist`);
  return path;
}

function checkKeys(
  table: TomlTable,
  known: readonly string[],
  { where, problems }: { readonly where: string; readonly problems: Problems },
): void {
  for (const key of Object.keys(table)) {
    if (known.includes(key)) continue;
    const meant = nearest(key, known);
    const hint = meant === null ? '' : `; did you mean ${meant}?`;
    problems.add(`${where} ${key}`, `is no setting${hint}`);
  }
}
