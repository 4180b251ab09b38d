import { CapatazError } from 'capataz';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { z } from 'zod';
import { yesOrNo } from '../config/parse.ts';
import { hourText } from '../planning/local-time.ts';
import type { Moment } from '../tables/assignments.ts';
import { type Db, inTransaction } from '../tables/database.ts';
import { createSchedule, devicesOfSchedules, scheduleProblems } from '../tables/schedules.ts';
import { robotNamed } from '../tables/switches.ts';

/** Columns of a file of schedules, as they are exported; devices stand in one, with `;` between. */
export const columns = [
  'Robot',
  'Equipos',
  'TipoProgramacion',
  'HoraInicio',
  'Tolerancia',
  'DiasSemana',
  'DiaDelMes',
  'FechaEspecifica',
  'DiaInicioMes',
  'DiaFinMes',
  'UltimosDiasMes',
  'EsCiclico',
  'HoraFin',
  'FechaInicioVentana',
  'FechaFinVentana',
  'IntervaloEntreEjecuciones',
  'Activo',
] as const;
const needed = [
  'Robot',
  'Equipos',
  'HoraInicio',
] as const satisfies readonly (typeof columns)[number][];

const word = z
  .string()
  .default('')
  .transform((text) => (text.trim() === '' ? null : text.trim()));
const whole = word.transform((text, context) => {
  if (text === null || /^-?\d+$/.test(text)) return text === null ? null : Number(text);
  context.addIssue(`"${text}" is no whole number`);
  return z.NEVER;
});
const flag = word.transform((text, context) => {
  const value = text === null ? null : yesOrNo(text);
  if (text === null || value !== null) return value;
  context.addIssue(`"${text}" is neither 1 nor 0`);
  return z.NEVER;
});

const line = z.object({
  Robot: z.string().trim().min(1, 'is empty'),
  Equipos: z.string().trim().min(1, 'is empty'),
  TipoProgramacion: word.transform((text) => text ?? 'Diaria'),
  HoraInicio: z.string().trim(),
  Tolerancia: whole.transform((minutes) => minutes ?? 60),
  DiasSemana: word,
  DiaDelMes: whole,
  FechaEspecifica: word,
  DiaInicioMes: whole,
  DiaFinMes: whole,
  UltimosDiasMes: whole,
  EsCiclico: flag.transform((value) => (value === true ? 1 : 0)),
  HoraFin: word,
  FechaInicioVentana: word,
  FechaFinVentana: word,
  IntervaloEntreEjecuciones: whole,
  Activo: flag.transform((value) => value !== false),
});

export async function exportSchedules(db: Db): Promise<string> {
  const rows = await db
    .selectFrom('Programaciones as p')
    .innerJoin('Robots as r', 'r.RobotId', 'p.RobotId')
    .selectAll('p')
    .select('r.Robot')
    .orderBy('p.ProgramacionId')
    .execute();
  const devices = await devicesOfSchedules(db);
  const lines = rows.map((row) => ({
    ...row,
    Equipos: (devices.get(row.ProgramacionId) ?? []).join(';'),
    HoraInicio: hourText(row.HoraInicio),
    HoraFin: row.HoraFin === null ? null : hourText(row.HoraFin),
  }));
  // A spreadsheet would run a name that begins like a formula.
  return stringify(lines, { header: true, columns: [...columns], escape_formulas: true });
}

/**
 * All of a file or nothing of it.
 * @param file its name, for what is wrong
 * @returns the numbers of the new schedules
 * @throws CapatazError VALIDATION_FAILED with file, line and column of everything that is wrong
 */
export async function importSchedules(
  db: Db,
  { text, file, by, ...moment }: Moment & { text: string; file: string; by: string },
): Promise<number[]> {
  const records = readRecords(text, file);
  return inTransaction(db, async (tx) => {
    const ids: number[] = [];
    const problems: string[] = [];
    for (const { record, lineNumber } of records) {
      const made = await importOne(tx, record, { by, ...moment });
      if (typeof made === 'number') ids.push(made);
      else problems.push(...made.map((problem) => `${file} line ${lineNumber}: ${problem}`));
    }
    if (problems.length > 0) throw wrong(problems);
    return ids;
  });
}

/** @returns the number of the new schedule, or what is wrong */
async function importOne(
  db: Db,
  record: unknown,
  { by, ...moment }: Moment & { by: string },
): Promise<number | string[]> {
  const read = line.safeParse(record);
  if (!read.success) return read.error.issues.map((one) => `${one.path.join('.')}: ${one.message}`);
  const { Robot, Equipos, Activo: isActive, ...words } = read.data;
  const devices = Equipos.split(';').flatMap((one) => one.trim() || []);
  const robot = await robotNamed(db, Robot).catch(problemOf);
  if (typeof robot === 'string')
    return [`Robot: ${robot}`, ...scheduleProblems({ ...words, RobotId: 0 })];
  const schedule = { ...words, RobotId: robot.RobotId };
  try {
    return await createSchedule(db, { schedule, devices, isActive, by }, moment);
  } catch (error) {
    if (!(error instanceof CapatazError)) throw error;
    const { code, message, details } = error;
    if (code === 'NOT_FOUND') return [`Equipos: ${message}`];
    if (Array.isArray(details?.problems)) return details.problems.map(String);
    const [head, ...rest] = message.split('\n');
    return [`${head} ${rest.join('; ')}`.trim()];
  }
}

/** Of a name that nobody has, or that several have. */
function problemOf(error: unknown): string {
  if (error instanceof CapatazError) return error.message;
  throw error;
}

function wrong(problems: string[], cause?: unknown): CapatazError {
  return new CapatazError('VALIDATION_FAILED', problems.join('\n'), { problems }, cause);
}

interface FileRecord {
  readonly record: Readonly<Record<string, string>>;
  /** Of its end, from 1. */
  readonly lineNumber: number;
}

function readRecords(text: string, file: string): FileRecord[] {
  const header: string[] = [];
  const records = parsed(text, file, header);
  const problems = [
    ...header
      .filter((name) => !columns.some((column) => column === name))
      .map((name) => `${file} line 1: there is no column "${name}"`),
    ...header
      .filter((name, index) => header.indexOf(name) !== index)
      .map((name) => `${file} line 1: the column ${name} is there twice`),
    ...needed
      .filter((name) => header.length > 0 && !header.includes(name))
      .map((name) => `${file} line 1: the column ${name} is missing`),
  ];
  if (problems.length > 0) throw wrong(problems);
  if (records.length === 0) throw wrong([`${file}: there is no schedule in it`]);
  return records;
}

/** Spreadsheets of half the world put semicolons between, and end with lines of nothing else. */
function parsed(text: string, file: string, header: string[]): FileRecord[] {
  const [first = ''] = text.split('\n', 1);
  try {
    return parse<FileRecord, FileRecord['record']>(text, {
      ...{ bom: true, trim: true },
      ...{ skip_empty_lines: true, skip_records_with_empty_values: true },
      on_record: (record, { lines: lineNumber }) => ({ record, lineNumber }),
      // As `escape_formulas` writes them.
      cast: (cell) => cell.replace(/^'(?=[=+\-@])/, ''),
      delimiter: first.includes(';') ? ';' : ',',
      columns: (names: string[]) => {
        header.push(...names);
        return names;
      },
    });
  } catch (error) {
    throw wrong([`${file}: ${error instanceof Error ? error.message : String(error)}`], error);
  }
}
