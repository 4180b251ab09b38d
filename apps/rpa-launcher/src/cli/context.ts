import { userInfo } from 'node:os';
import { type ApplicationCommand, type CommandContext, UsageError } from 'capataz/server';
import { z } from 'zod';
import type { LauncherSettings } from '../config/settings.ts';
import { type settings as declared, storedSettings, tablesPlace } from '../declared.ts';
import type { Moment } from '../tables/assignments.ts';
import { type Database, type Db, openDatabase } from '../tables/database.ts';

type Declared = typeof declared;
export type LauncherCommand = ApplicationCommand<Declared>;
export type Context = CommandContext<Declared>;

/** What commands need besides their words: the time, and how settings are read. */
export interface CommandParts {
  readonly now: () => number;
  readonly settings: (stored: Readonly<Record<string, string>>) => LauncherSettings;
}

export interface Tables {
  readonly db: Db;
  readonly settings: LauncherSettings;
  readonly moment: Moment;
  /** Who types the command. */
  readonly by: string;
}

/** The launcher's tables, with or without a launcher that runs on them. */
export async function withTables<T>(
  { config, settings }: Pick<Context, 'config' | 'settings'>,
  parts: CommandParts,
  work: (tables: Tables) => Promise<T>,
): Promise<T> {
  const database: Database = await openDatabase(tablesPlace(config, settings));
  try {
    const values = parts.settings(await storedSettings(database));
    const moment = { now: parts.now(), zone: values.zone };
    return await work({ db: database.db, settings: values, moment, by: userInfo().username });
  } finally {
    await database.close();
  }
}

/** One document for programs, or columns for people. */
export function show(
  { print, asJson }: Pick<Context, 'print' | 'asJson'>,
  columns: readonly string[],
  rows: readonly object[],
): void {
  if (asJson) return print.json(rows);
  const cells = rows.map((row) => new Map<string, unknown>(Object.entries(row)));
  const text = (value: unknown): string =>
    value === null || value === undefined ? '-' : String(value);
  print.table(
    columns.map((column) => column.toUpperCase()),
    cells.map((row) => columns.map((column) => text(row.get(column)))),
  );
}

export const onOff = z.enum(['on', 'off'], 'must be on or off').transform((word) => word === 'on');
export const wholeNumber = z
  .string()
  .regex(/^-?\d+$/, 'must be a whole number')
  .transform(Number);

/** @throws UsageError that names the option */
export function read<T extends z.ZodType>(schema: T, options: unknown): z.output<T> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const option = String(issue?.path[0]).replaceAll(
    /[A-Z]/g,
    (letter) => `-${letter.toLowerCase()}`,
  );
  throw new UsageError(`--${option}: ${issue?.message}`);
}

/** @throws UsageError where something is to be changed and nobody says what */
export function refuseNameless(
  command: string,
  what: string,
  options: Readonly<Record<string, unknown>>,
): void {
  const given = Object.values(options).some((value) => value !== undefined);
  if (given) throw new UsageError(`${command}: name the ${what}`);
}

/** Every word of a list that was written with commas or given apart. */
export function words(given: readonly string[]): string[] {
  return given.flatMap((one) => one.split(',')).flatMap((one) => one.trim() || []);
}
