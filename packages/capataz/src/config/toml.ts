import { readFileSync } from 'node:fs';
import { parse, TomlError } from 'smol-toml';
import type { Problems } from './problems.ts';

export type TomlTable = Readonly<Record<string, unknown>>;

/** @returns null, and notes the problem, when the file can't be read or is no TOML. */
export function readToml(path: string, problems: Problems): TomlTable | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    problems.add(path, `cannot be read (${codeOf(error)})`);
    return null;
  }
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split('\n')[0] ?? 'no TOML';
    problems.add(`${path}:${error.line}:${error.column}`, reason);
    return null;
  }
}

export function isTable(value: unknown): value is TomlTable {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

/** What a wrong value is, in words for people, without telling the value: it may be a secret. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  if (isTable(value)) return 'a table';
  return typeof value === 'string' ? 'a string' : `a ${typeof value}`;
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
