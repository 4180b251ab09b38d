import { CapatazError } from 'capataz';
import type { Client } from 'capataz/client';
import { UsageError } from 'capataz/server';
import { z } from 'zod';
import { Executions } from '../cycles/executions.ts';
import { blueprintName } from '../execution/blueprint.ts';
import { type ExecutionInput, hostOf } from '../execution/record.ts';
import { ownStates, rowStates } from '../execution/states.ts';
import { idleAssignments } from '../planning/idle.ts';
import { hourText, localText } from '../planning/local-time.ts';
import { type OpenExecution, slotKey } from '../planning/model.ts';
import { pauseOf } from '../planning/pause.ts';
import { plan } from '../planning/plan.ts';
import { forgetFailures } from '../tables/failures.ts';
import { readPlanTables } from '../tables/plan-tables.ts';
import { deviceNamed, robotNamed } from '../tables/switches.ts';
import {
  type CommandParts,
  type LauncherCommand,
  read,
  show,
  type Tables,
  wholeNumber,
  withTables,
} from './context.ts';
import { checkInput } from './masters.ts';

const state = z
  .string()
  .transform((word) => word.toUpperCase())
  .superRefine((word, context) => {
    if (rowStates.includes(word)) return;
    context.addIssue(
      ownStates.some((own) => own === word)
        ? `${word} is in no row of Ejecuciones; jobs list --state ${word} shows them`
        : `"${word}" is none of ${rowStates.join(', ')}`,
    );
  });
const filter = z.object({
  state: state.optional(),
  robot: z.string().optional(),
  device: z.string().optional(),
  history: z.boolean().default(false),
  limit: wholeNumber.refine((count) => count > 0, 'must be at least 1').default(50),
});

export function executionsCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'executions',
    description: 'List the newest executions (Ejecuciones).',
    needsServer: false,
    options: [
      { flags: '--state <state>', description: 'Only those in this state.' },
      { flags: '--robot <robot>', description: 'Only of this robot.' },
      { flags: '--device <device>', description: 'Only on this device.' },
      { flags: '--history', description: 'Those that were moved to Ejecuciones_Historico.' },
      { flags: '--limit <count>', description: 'At most so many. Default 50.' },
    ],
    run: (context) =>
      withTables(context, parts, async ({ db }) => {
        const given = read(filter, context.options);
        const { state, history, limit } = given;
        const robot = given.robot === undefined ? null : await robotNamed(db, given.robot);
        const device = given.device === undefined ? null : await deviceNamed(db, given.device);
        // Both have the columns that are shown.
        const table = history ? 'Ejecuciones_Historico as x' : 'Ejecuciones as x';
        const rows = await db
          .selectFrom(table as 'Ejecuciones as x')
          .leftJoin('Robots as r', 'r.RobotId', 'x.RobotId')
          .leftJoin('Equipos as e', 'e.EquipoId', 'x.EquipoId')
          .selectAll('x')
          .select(['r.Robot', 'e.Equipo'])
          .$if(state !== undefined, (query) => query.where('x.Estado', '=', state ?? ''))
          .$if(robot !== null, (query) => query.where('x.RobotId', '=', robot?.RobotId ?? 0))
          .$if(device !== null, (query) => query.where('x.EquipoId', '=', device?.EquipoId ?? 0))
          .orderBy('x.FechaInicioUtc', 'desc')
          .limit(limit)
          .execute();
        const columns = ['JobId', 'Robot', 'Equipo', 'Hora', 'FechaInicio', 'FechaFin', 'Estado'];
        const shown = rows.map((row) => ({
          ...row,
          Hora: row.Hora === null ? null : hourText(row.Hora),
        }));
        show(context, [...columns, 'InicioEnPausa', 'Motivo'], shown);
      }),
  };
}

export function executablesCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'executables [device]',
    description: 'Who would be deployed now, and who would not and why (ObtenerRobotsEjecutables).',
    run: ({ client, ...context }) =>
      withTables(context, parts, async (tables) => {
        const { verdicts } = await verdictsNow(tables, client);
        const [name] = context.arguments;
        const device = name === undefined ? null : await deviceNamed(tables.db, name);
        const shown = verdicts.filter(
          ({ Equipo }) => device === null || hostOf(Equipo) === hostOf(device.Equipo),
        );
        show(context, ['Robot', 'Equipo', 'Origen', 'Hora', 'Ahora', 'Motivo'], shown);
      }),
  };
}

export interface ShownVerdict {
  readonly Robot: string;
  readonly Equipo: string;
  readonly Origen: string;
  readonly Hora: string | null;
  readonly Ahora: 'sí' | 'no';
  readonly Motivo: string | null;
}

export async function verdictsNow({ db, settings, moment }: Tables, client: Client) {
  const executions = new Executions();
  executions.connect(() => client);
  const open = await executions.open();
  const input = {
    ...(await readPlanTables(db)),
    ...{ now: moment.now, zone: settings.zone, pause: pauseOf(settings), open },
    knowsConnections: settings.isSyncEnabled,
    started: new Set<string>(),
  };
  const byCalendar = plan({ ...input, executed: new Set() }).starts;
  const over = await endedSlots(executions, byCalendar);
  const started = new Set(over.map((one) => slotKey(one.input)));
  const { deploys, waits } = plan({ ...input, started });
  const verdicts: ShownVerdict[] = [
    ...open
      .filter(({ state }) => state !== 'PENDIENTE')
      .map((one) => verdict(one.input, `it is ${one.state} (${one.id})`)),
    ...over.map((one) => verdict(one.input, one.reason)),
    ...deploys.map((one) => verdict(one.input, null)),
    ...waits.map((one) => verdict(one.input, one.reason)),
    ...idleAssignments(input).map((one) => verdict(one.input, one.reason)),
  ];
  return { verdicts, open };
}

/** Slots that are due by the calendar alone: their job has ended. */
async function endedSlots(executions: Executions, due: readonly ExecutionInput[]) {
  const found = await Promise.all(
    due.map(async (input) => {
      const job = await executions.ofSlot(input);
      if (job === null) return [];
      return [{ input, reason: `its run of ${input.hour} is over: ${job.state} (${job.id})` }];
    }),
  );
  return found.flat();
}

function verdict(input: ExecutionInput, reason: string | null): ShownVerdict {
  const { robot: Robot, device: Equipo, origin: Origen, hour: Hora } = input;
  return { Robot, Equipo, Origen, Hora, Ahora: reason === null ? 'sí' : 'no', Motivo: reason };
}

/** How long an operator's wish waits for its device. */
const manualForMs = 3_600_000;
const runOptions = z.object({ input: z.string().optional() });

export function runNowCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'run-now <robot> <device>',
    description:
      'Deploy a robot as soon as the device is free, outside the pause, for an hour at most.',
    options: [{ flags: '--input <json>', description: 'Bot input in place of the robot’s own.' }],
    run: ({ client, ...context }) =>
      withTables(context, parts, async ({ db, moment, by }) => {
        const [robotName = '', host = ''] = context.arguments;
        const { input } = runOptions.parse(context.options);
        if (input !== undefined) checkInput('--input', input);
        const robot = await robotNamed(db, robotName);
        const device = await deviceNamed(db, host);
        // Whoever wants it now knows better than its last failures.
        await forgetFailures(db, { robotId: robot.RobotId, device: device.Equipo });
        const executions = new Executions();
        executions.connect(() => client);
        const [jobId] = await executions.start([
          {
            ...{ origin: 'manual', robotId: robot.RobotId, robot: robot.Robot, by },
            ...{ deviceId: device.EquipoId, device: device.Equipo },
            ...{ scheduleId: null, date: null, hour: null },
            ...{ startsAt: moment.now, endsAt: moment.now + manualForMs },
            botInput: input === undefined ? null : JSON.parse(input),
          },
        ]);
        if (context.asJson) return context.print.json({ jobId });
        context.print.line(String(jobId));
      }),
  };
}

export function stopCommand(parts: CommandParts): LauncherCommand {
  return steering(parts, {
    name: 'stop <execution>',
    signal: 'parar',
    description:
      'Have the Control Room stop a run; by its job, its deployment, or its device. One that was not deployed yet is left out.',
  });
}

export function releaseCommand(parts: CommandParts): LauncherCommand {
  return steering(parts, {
    name: 'release <execution>',
    signal: 'liberar',
    description:
      'Free the device of an execution that you know to be over: it ends as RUN_ABORTED. The Control Room is asked nothing.',
  });
}

function steering(
  parts: CommandParts,
  words: {
    readonly name: string;
    readonly signal: 'parar' | 'liberar';
    readonly description: string;
  },
): LauncherCommand {
  const { name, signal, description } = words;
  return {
    name,
    description,
    run: ({ client, ...context }) =>
      withTables(context, parts, async ({ by }) => {
        const [text = ''] = context.arguments;
        const executions = new Executions();
        executions.connect(() => client);
        const one = executionNamed(await executions.open(), text);
        const [told] = await executions.tell([{ jobId: one.id, name: signal, data: { by } }]);
        if (told !== 'taken')
          throw new CapatazError(
            'SIGNAL_REFUSED',
            `${one.id} is ${one.state}, which takes no ${signal}`,
          );
        context.print.line(one.id);
      }),
  };
}

/** @throws UsageError, CapatazError JOB_NOT_FOUND */
export function executionNamed(open: readonly OpenExecution[], text: string): OpenExecution {
  const found = open.filter(
    ({ id, record, input, state }) =>
      id === text ||
      record.deploymentId === text ||
      (hostOf(input.device) === hostOf(text) && state !== 'PENDIENTE'),
  );
  const [one, another] = found;
  if (one === undefined) {
    const waiting = open.filter(({ input }) => hostOf(input.device) === hostOf(text));
    throw new CapatazError(
      'JOB_NOT_FOUND',
      waiting.length === 0
        ? `no open ${blueprintName} is known as "${text}"`
        : `nothing runs on ${text}; what waits there has to be named: ${waiting.map(({ id }) => id).join(', ')}`,
      { hint: '`capataz-rpa executables` shows what runs and what waits.' },
    );
  }
  if (another !== undefined)
    throw new UsageError(`"${text}" names several: ${found.map(({ id }) => id).join(', ')}`);
  return one;
}

export function inZone(at: number | null, zone: string): string | null {
  return at === null ? null : localText(at, zone);
}
