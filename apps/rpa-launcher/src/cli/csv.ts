import { CapatazError } from 'capataz';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { z } from 'zod';
import type { Moment } from '../tables/assignments.ts';
import { type Db, inTransaction } from '../tables/database.ts';
import { createSchedule, type NewSchedule, scheduleProblems } from '../tables/schedules.ts';
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
] as const;

const word = z
  .string()
  .default('')
  .transform((text) => (text.trim() === '' ? null : text.trim()));
const whole = word.transform((text, context) => {
  if (text === null || /^-?\d+$/.test(text)) return text === null ? null : Number(text);
  context.addIssue(`"${text}" is no whole number`);
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
  EsCiclico: whole.transform((flag) => (flag === 1 ? 1 : 0)),
  HoraFin: word,
  FechaInicioVentana: word,
  FechaFinVentana: word,
  IntervaloEntreEjecuciones: whole,
});

export async function exportSchedules(db: Db): Promise<string> {
  const rows = await db
    .selectFrom('Programaciones as p')
    .innerJoin('Robots as r', 'r.RobotId', 'p.RobotId')
    .selectAll('p')
    .select('r.Robot')
    .orderBy('p.ProgramacionId')
    .execute();
  const assigned = await db
    .selectFrom('Asignaciones as a')
    .innerJoin('Equipos as e', 'e.EquipoId', 'a.EquipoId')
    .select(['a.ProgramacionId', 'e.Equipo'])
    .where('a.ProgramacionId', 'is not', null)
    .orderBy('e.Equipo')
    .execute();
  const lines = rows.map((row) => ({
    ...row,
    Equipos: assigned
      .filter(({ ProgramacionId }) => ProgramacionId === row.ProgramacionId)
      .map(({ Equipo }) => Equipo)
      .join(';'),
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
  const problems: string[] = [];
  const wishes: { schedule: NewSchedule; devices: string[]; where: string }[] = [];
  for (const [index, record] of records.entries()) {
    const where = `${file} line ${index + 2}`;
    const read = line.safeParse(record);
    if (!read.success) {
      const issues = read.error.issues.map(
        (one) => `${where}: ${one.path.join('.')}: ${one.message}`,
      );
      problems.push(...issues);
      continue;
    }
    const { Robot, Equipos, ...words } = read.data;
    const robot = await robotNamed(db, Robot).catch((error: unknown) => {
      if (!(error instanceof CapatazError)) throw error;
      problems.push(`${where}: Robot: ${error.message}`);
      return null;
    });
    const schedule = { ...words, RobotId: robot?.RobotId ?? 0 };
    problems.push(...scheduleProblems(schedule).map((problem) => `${where}: ${problem}`));
    const devices = Equipos.split(';').flatMap((one) => one.trim() || []);
    wishes.push({ schedule, devices, where });
  }
  if (problems.length > 0)
    throw new CapatazError('VALIDATION_FAILED', problems.join('\n'), { problems });
  return inTransaction(db, async (tx) => {
    const ids: number[] = [];
    for (const { schedule, devices, where } of wishes) {
      try {
        ids.push(await createSchedule(tx, { schedule, devices, by }, moment));
      } catch (error) {
        if (!(error instanceof CapatazError)) throw error;
        throw new CapatazError(error.code, `${where}: ${error.message}`, error.details, error);
      }
    }
    return ids;
  });
}

/** A column that is misspelt would be as if it were not there. @throws Error */
function knownColumns(names: string[]): string[] {
  const unknown = names.filter((name) => !columns.some((column) => column === name));
  if (unknown.length > 0)
    throw new Error(`there is no column ${unknown.join(', ')}; they are ${columns.join(', ')}`);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  if (twice.length > 0) throw new Error(`column ${twice.join(', ')} is there twice`);
  return names;
}

function readRecords(text: string, file: string): Record<string, string>[] {
  try {
    return parse(text, {
      ...{ bom: true, skip_empty_lines: true, trim: true },
      columns: knownColumns,
      cast: (cell) => cell.replace(/^'(?=[=+\-@])/, ''),
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new CapatazError('VALIDATION_FAILED', `${file}: ${message}`, undefined, error);
  }
}
