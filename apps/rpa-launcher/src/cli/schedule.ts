import { readFileSync } from 'node:fs';
import { UsageError } from 'capataz/server';
import { z } from 'zod';
import {
  createSchedule,
  type NewSchedule,
  removeSchedule,
  switchSchedule,
} from '../tables/schedules.ts';
import { devicesOfPool, robotNamed } from '../tables/switches.ts';
import {
  type CommandParts,
  type Context,
  type LauncherCommand,
  show,
  type Tables,
  withTables,
  words,
} from './context.ts';
import { exportSchedules, importSchedules } from './csv.ts';

const number = z.coerce.number().int().optional();
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
  const shown = rows.map((row) => ({ ...row, Cuando: whenOf(row) }));
  const columns = ['ProgramacionId', 'Robot', 'TipoProgramacion', 'HoraInicio', 'Tolerancia'];
  show(context, [...columns, 'Cuando', 'Activo'], shown);
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
  const when = String(days[row.TipoProgramacion] ?? '-');
  return row.EsCiclico === 1 ? `${when}, cíclica hasta ${row.HoraFin ?? '24:00'}` : when;
}

async function add(context: Context, { db, moment, by }: Tables): Promise<void> {
  const given = options.safeParse(context.options);
  if (!given.success) throw new UsageError(`schedule add: ${given.error.issues[0]?.message}`);
  const { robot, devices, pool, at } = given.data;
  if (robot === undefined) throw new UsageError('schedule add: --robot is missing');
  if (at === undefined) throw new UsageError('schedule add: --at is missing');
  const hosts = pool === undefined ? words([devices ?? '']) : await devicesOfPool(db, pool);
  const { RobotId } = await robotNamed(db, robot);
  const schedule = newSchedule(given.data, RobotId, at);
  const id = await createSchedule(db, { schedule, devices: hosts, by }, moment);
  if (context.asJson) return context.print.json({ ProgramacionId: id });
  context.print.line(String(id));
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

function typeOf({ days, day, date, fromDay, lastDays }: Options): string {
  if (days !== undefined) return 'Semanal';
  if (day !== undefined) return 'Mensual';
  if (date !== undefined) return 'Especifica';
  return fromDay !== undefined || lastDays !== undefined ? 'RangoMensual' : 'Diaria';
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
  const ids = await importSchedules(db, { text: readFileSync(file, 'utf8'), file, by, ...moment });
  if (context.asJson) return context.print.json(ids);
  context.print.line(`${ids.length} schedules: ${ids.join(', ')}`);
}
