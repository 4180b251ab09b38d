import { UsageError } from 'capataz/server';
import { z } from 'zod';
import { parseBotInput } from '../cycles/bot-input.ts';
import {
  assignDevices,
  changeDevice,
  changeRobot,
  deviceNamed,
  devicesOfPool,
  robotNamed,
  unassignDevices,
} from '../tables/switches.ts';
import {
  type CommandParts,
  type LauncherCommand,
  onOff,
  read,
  refuseNameless,
  show,
  wholeNumber,
  withTables,
  words,
} from './context.ts';

const robotOptions = z.object({
  active: onOff.optional(),
  online: onOff.optional(),
  priority: wholeNumber.optional(),
  params: z.string().optional(),
});

export function robotsCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'robots [robot]',
    description: 'List robots, or change one that is named by its number or name.',
    needsServer: false,
    options: [
      { flags: '--active <on|off>', description: 'Whether it is deployed at all.' },
      { flags: '--online <on|off>', description: 'It runs again whenever its device is free.' },
      { flags: '--priority <number>', description: 'The lower one goes first on a device.' },
      { flags: '--params <json>', description: 'Bot input in place of the default; "" for none.' },
    ],
    run: (context) =>
      withTables(context, parts, async ({ db, moment, by }) => {
        const [name] = context.arguments;
        const change = read(robotOptions, context.options);
        if (name === undefined) refuseNameless('robots', 'robot', change);
        else {
          const { active, online, priority, params } = change;
          if (params !== undefined && params !== '') checkInput('--params', params);
          const robot = await robotNamed(db, name);
          await changeRobot(
            db,
            robot.RobotId,
            {
              ...(active === undefined ? {} : { isActive: active }),
              ...(online === undefined ? {} : { isOnline: online }),
              ...(priority === undefined ? {} : { priority }),
              ...(params === undefined ? {} : { parameters: params === '' ? null : params }),
            },
            { ...moment, by },
          );
        }
        const rows = await db.selectFrom('Robots').selectAll().orderBy('Robot').execute();
        const robotId = name === undefined ? null : (await robotNamed(db, name)).RobotId;
        const shown = rows.filter((row) => robotId === null || row.RobotId === robotId);
        show(context, ['RobotId', 'Robot', 'Activo', 'EsOnline', 'PrioridadBalanceo'], shown);
      }),
  };
}

/** @throws UsageError that names the option */
export function checkInput(option: string, json: string): void {
  try {
    parseBotInput(json);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const where =
      error instanceof z.ZodError
        ? error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
        : problem;
    throw new UsageError(
      `${option}: is no bot input like {"in_NumRepeticion":{"type":"NUMBER","number":"3"}}: ${where}`,
    );
  }
}

const deviceOptions = z.object({ active: onOff.optional(), pool: z.string().optional() });

export function devicesCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'devices [device]',
    description: 'List devices (Equipos), or change one that is named by its host name.',
    needsServer: false,
    options: [
      { flags: '--active <on|off>', description: 'Your switch: a synchronisation never moves it.' },
      {
        flags: '--pool <name>',
        description: 'Put it into a pool, which is made if needed; "" for none.',
      },
    ],
    run: (context) =>
      withTables(context, parts, async ({ db, moment, by }) => {
        const [name] = context.arguments;
        const change = read(deviceOptions, context.options);
        const { active, pool } = change;
        if (name === undefined) refuseNameless('devices', 'device', change);
        const device = name === undefined ? null : await deviceNamed(db, name);
        if (device !== null && (active !== undefined || pool !== undefined))
          await changeDevice(
            db,
            device.EquipoId,
            {
              ...(active === undefined ? {} : { isActive: active }),
              ...(pool === undefined ? {} : { pool: pool === '' ? null : pool }),
            },
            { ...moment, by },
          );
        const rows = await db
          .selectFrom('Equipos as e')
          .leftJoin('Pools as p', 'p.PoolId', 'e.PoolId')
          .selectAll('e')
          .select('p.Nombre as Pool')
          .orderBy('e.Equipo')
          .execute();
        const shown = rows.filter((row) => device === null || row.EquipoId === device.EquipoId);
        const columns = [
          'EquipoId',
          'Equipo',
          'UserName',
          'Licencia',
          'Activo_SAM',
          'EstadoA360',
          'Pool',
        ];
        show(context, columns, shown);
      }),
  };
}

const assignOptions = z.object({
  pool: z.string().optional(),
  reserved: z.boolean().optional(),
  remove: z.boolean().optional(),
});

export function assignCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'assign [robot] [devices...]',
    description:
      'Assign a robot to devices without a schedule, for online robots; or list assignments.',
    needsServer: false,
    options: [
      { flags: '--pool <name>', description: 'To every device of this pool.' },
      { flags: '--reserved', description: 'Reserve the devices for it.' },
      { flags: '--remove', description: 'Take the assignments away.' },
    ],
    run: (context) =>
      withTables(context, parts, async ({ db, moment, by }) => {
        const [name, ...hosts] = context.arguments;
        const change = read(assignOptions, context.options);
        const robot = name === undefined ? null : await robotNamed(db, name);
        if (robot === null) refuseNameless('assign', 'robot', change);
        else {
          const { pool, reserved = false, remove = false } = change;
          const { RobotId } = robot;
          const devices = pool === undefined ? words(hosts) : await devicesOfPool(db, pool);
          if (devices.length === 0) throw new UsageError('assign: name the devices, or a --pool');
          const count = remove
            ? await unassignDevices(db, RobotId, { devices, by, ...moment })
            : await assignDevices(db, RobotId, { devices, isReserved: reserved, by, ...moment });
          if (!context.asJson) context.print.line(`${count} ${remove ? 'removed' : 'assigned'}`);
        }
        const rows = await db
          .selectFrom('Asignaciones as a')
          .innerJoin('Robots as r', 'r.RobotId', 'a.RobotId')
          .innerJoin('Equipos as e', 'e.EquipoId', 'a.EquipoId')
          .select(['r.Robot', 'e.Equipo', 'a.EsProgramado', 'a.Reservado', 'a.ProgramacionId'])
          .select(['a.AsignadoPor', 'a.FechaAsignacion'])
          .$if(robot !== null, (query) => query.where('a.RobotId', '=', robot?.RobotId ?? 0))
          .orderBy('r.Robot')
          .orderBy('e.Equipo')
          .execute();
        const columns = [
          'Robot',
          'Equipo',
          'ProgramacionId',
          'Reservado',
          'AsignadoPor',
          'FechaAsignacion',
        ];
        show(context, columns, rows);
      }),
  };
}
