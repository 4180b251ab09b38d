import { readFileSync } from 'node:fs';
import { UsageError } from 'capataz/server';
import { z } from 'zod';
import { hourText } from '../planning/local-time.ts';
import {
  createSchedule,
  devicesOfSchedules,
  type NewSchedule,
  removeSchedule,
  switchSchedule,
} from '../tables/schedules.ts';
import { devicesOfPool, robotNamed } from '../tables/switches.ts';
import {
  type CommandParts,
  type Context,
  type LauncherCommand,
  read,
  show,
  type Tables,
  wholeNumber,
  withTables,
  words,
} from './context.ts';
import { exportSchedules, importSchedules } from './csv.ts';

const number = wholeNumber.optional();
const text = z.string().min(1).optional();
const options = z.object({
  robot: text,
  devices: text,
  pool: text,
  at: text,
  tolerance: number,
  days: text,
  day: number,
  date: text,
  fromDay: number,
  toDay: number,
  lastDays: number,
  cyclic: z.boolean().default(false),
  until: text,
  interval: number,
  from: text,
  to: text,
});
type Options = z.infer<typeof options>;

const actions: Readonly<
  Record<string, (context: Context, tables: Tables, argument: string | undefined) => Promise<void>>
> = {
  list,
  add,
  enable: (context, tables, id) => switchOne(context, tables, id, true),
  disable: (context, tables, id) => switchOne(context, tables, id, false),
  remove,
  import: load,
  export: async ({ print }, { db }) => print.line((await exportSchedules(db)).trimEnd()),
};

export function scheduleCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'schedule <action> [argument]',
    description:
      'Schedules (Programaciones): list, add, enable|disable|remove <number>, import <file.csv>, export.',
    needsServer: false,
    options: [
      { flags: '--robot <robot>', description: 'add: its number or name.' },
      { flags: '--devices <hosts>', description: 'add: host names, with commas between.' },
      { flags: '--pool <name>', description: 'add: every device of this pool.' },
      { flags: '--at <HH:MM>', description: 'add: the hour, in the launcher’s zone.' },
      { flags: '--tolerance <minutes>', description: 'add: how late it may start. Default 60.' },
      { flags: '--days <days>', description: 'add: weekly, on days like Lu,Mi,Vi.' },
      {
        flags: '--day <day>',
        description: 'add: monthly, on this day; a month without it has none.',
      },
      { flags: '--date <date>', description: 'add: once, on a date like 2026-03-31.' },
      { flags: '--from-day <day>', description: 'add: monthly from this day, with --to-day.' },
      { flags: '--to-day <day>', description: 'add: monthly up to this day.' },
      { flags: '--last-days <count>', description: 'add: on the last days of each month.' },
      { flags: '--cyclic', description: 'add: again and again from --at to --until.' },
      { flags: '--until <HH:MM>', description: 'add: end of a cyclic one. Default midnight.' },
      { flags: '--interval <minutes>', description: 'add: from the end of a run to the next one.' },
      { flags: '--from <date>', description: 'add: not before this date.' },
      { flags: '--to <date>', description: 'add: not after this date.' },
    ],
    run: (context) => {
      const [word = '', argument] = context.arguments;
      const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
      if (action === undefined)
        throw new UsageError(`"${word}" is none of ${Object.keys(actions).join(', ')}`);
      return withTables(context, parts, (tables) => action(context, tables, argument));
    },
  };
}

async function list(context: Context, { db }: Tables): Promise<void> {
  const rows = await db
    .selectFrom('Programaciones as p')
    .innerJoin('Robots as r', 'r.RobotId', 'p.RobotId')
    .selectAll('p')
    .select(['r.Robot'])
    .orderBy('p.ProgramacionId')
    .execute();
  const devices = await devicesOfSchedules(db);
  const shown = rows.map((row) => ({
    ...row,
    Equipos: (devices.get(row.ProgramacionId) ?? []).join(',') || null,
    HoraInicio: hourText(row.HoraInicio),
    Cuando: whenOf(row),
  }));
  const columns = ['ProgramacionId', 'Robot', 'Equipos', 'TipoProgramacion', 'HoraInicio'];
  show(context, [...columns, 'Tolerancia', 'Cuando', 'Activo'], shown);
}

function whenOf(row: NewSchedule): string {
  const range = row.UltimosDiasMes === null ? `${row.DiaInicioMes}-${row.DiaFinMes}` : null;
  const days: Readonly<Record<string, string | number | null>> = {
    Diaria: 'todos los días',
    Semanal: row.DiasSemana,
    Mensual: row.DiaDelMes,
    Especifica: row.FechaEspecifica,
    RangoMensual: range ?? `últimos ${row.UltimosDiasMes}`,
  };
  const { HoraFin: end, IntervaloEntreEjecuciones: minutes } = row;
  const { FechaInicioVentana: first, FechaFinVentana: last } = row;
  return [
    String(days[row.TipoProgramacion] ?? '-'),
    ...(row.EsCiclico === 1 ? [`cíclica hasta ${end === null ? '24:00' : hourText(end)}`] : []),
    ...(row.EsCiclico === 1 && minutes !== null ? [`${minutes} min tras cada fin`] : []),
    ...(first === null ? [] : [`desde ${first}`]),
    ...(last === null ? [] : [`hasta ${last}`]),
  ].join(', ');
}

async function add(context: Context, { db, moment, by }: Tables): Promise<void> {
  const given = read(options, context.options);
  const { robot, devices, pool, at } = given;
  if (robot === undefined) throw new UsageError('schedule add: --robot is missing');
  if (at === undefined) throw new UsageError('schedule add: --at is missing');
  const hosts = pool === undefined ? words([devices ?? '']) : await devicesOfPool(db, pool);
  const { RobotId, Robot, EsOnline } = await robotNamed(db, robot);
  const schedule = newSchedule(given, RobotId, at);
  const id = await createSchedule(db, { schedule, devices: hosts, by }, moment);
  if (context.asJson) return context.print.json({ ProgramacionId: id });
  context.print.line(`schedule ${id}: ${Robot} on ${hosts.join(', ')}`);
  if (EsOnline === 1) context.print.line(`${Robot} is not online any more: it has a schedule`);
}

function newSchedule(given: Options, RobotId: number, at: string): NewSchedule {
  return {
    RobotId,
    TipoProgramacion: typeOf(given),
    HoraInicio: at,
    Tolerancia: given.tolerance ?? 60,
    DiasSemana: given.days ?? null,
    DiaDelMes: given.day ?? null,
    FechaEspecifica: given.date ?? null,
    DiaInicioMes: given.fromDay ?? null,
    DiaFinMes: given.toDay ?? null,
    UltimosDiasMes: given.lastDays ?? null,
    EsCiclico: given.cyclic ? 1 : 0,
    HoraFin: given.until ?? null,
    FechaInicioVentana: given.from ?? null,
    FechaFinVentana: given.to ?? null,
    IntervaloEntreEjecuciones: given.interval ?? null,
  };
}

/** Which options make a schedule what it is; without any of them it is a daily one. */
function typeOf({ days, day, date, fromDay, toDay, lastDays }: Options): string {
  const given = [
    { option: '--days', type: 'Semanal', isGiven: days !== undefined },
    { option: '--day', type: 'Mensual', isGiven: day !== undefined },
    { option: '--date', type: 'Especifica', isGiven: date !== undefined },
    {
      option: '--from-day',
      type: 'RangoMensual',
      isGiven: fromDay !== undefined || toDay !== undefined,
    },
    { option: '--last-days', type: 'RangoMensual', isGiven: lastDays !== undefined },
  ].filter(({ isGiven }) => isGiven);
  const [one, another] = given;
  if (one !== undefined && another !== undefined)
    throw new UsageError(
      `schedule add: ${one.option} and ${another.option} do not go together: make two schedules`,
    );
  return one?.type ?? 'Diaria';
}

function numberOf(argument: string | undefined): number {
  const id = Number(argument);
  if (Number.isInteger(id) && id > 0) return id;
  throw new UsageError('name the number of the schedule');
}

async function switchOne(
  { print }: Context,
  { db, moment, by }: Tables,
  argument: string | undefined,
  isActive: boolean,
): Promise<void> {
  const id = numberOf(argument);
  await switchSchedule(db, id, { ...moment, isActive, by });
  print.line(`schedule ${id} is ${isActive ? 'enabled' : 'disabled'}`);
}

async function remove({ print }: Context, { db, moment, by }: Tables, argument?: string) {
  const id = numberOf(argument);
  await removeSchedule(db, id, { ...moment, by });
  print.line(`schedule ${id} is removed`);
}

async function load(context: Context, { db, moment, by }: Tables, file?: string): Promise<void> {
  if (file === undefined) throw new UsageError('schedule import: the file is missing');
  const ids = await importSchedules(db, { text: readText(file), file, by, ...moment });
  if (context.asJson) return context.print.json(ids);
  context.print.line(`schedules that were made: ${ids.join(', ')}`);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new UsageError(`schedule import: ${file}: ${problem}`);
  }
}
