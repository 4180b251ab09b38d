import { UsageError } from 'capataz/server';
import { Executions } from '../cycles/executions.ts';
import { activeStates } from '../execution/states.ts';
import { pauseOf } from '../planning/pause.ts';
import { restoreAssignment } from '../tables/assignments.ts';
import { leaseName } from '../tables/cycles.ts';
import { deviceNamed } from '../tables/switches.ts';
import { type CommandParts, type LauncherCommand, show, withTables } from './context.ts';
import { diagnose } from './diagnose.ts';
import { inZone, verdictsNow } from './executions.ts';

export function statusCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'status',
    description: 'Cycles, pause, devices, executions and alerts at a glance.',
    run: ({ client, ...context }) =>
      withTables(context, parts, async ({ db, settings, moment }) => {
        const executions = new Executions();
        executions.connect(() => client);
        const open = await executions.open();
        const rows = await db.selectFrom('Ciclos').selectAll().orderBy('Ciclo').execute();
        const lease = rows.find(({ Ciclo }) => Ciclo === leaseName);
        const cycles = rows.filter((one) => one !== lease);
        const devices = await db
          .selectFrom('Equipos')
          .select(['Activo_SAM', 'Conectado'])
          .execute();
        const alerts = await db.selectFrom('Avisos').selectAll().execute();
        const window = pauseOf(settings)?.at(moment.now) ?? null;
        const states = Object.entries(Object.groupBy(open, ({ state }) => state));
        const document = {
          ...(lease === undefined
            ? {}
            : { turno: lease.HastaUtc < moment.now ? null : lease.Duenio }),
          pausa: window === null ? null : inZone(window.end, settings.zone),
          equipos: {
            total: devices.length,
            activos: devices.filter((one) => one.Activo_SAM === 1).length,
            conectados: devices.filter((one) => one.Conectado === 1).length,
          },
          ejecuciones: Object.fromEntries(states.map(([state, list = []]) => [state, list.length])),
          ciclos: cycles.map((one) => ({
            ciclo: one.Ciclo,
            fin: inZone(one.FinUtc, settings.zone),
            vueltas: one.Vueltas,
            resultado: one.Resultado,
          })),
          avisos: alerts.map(({ Tipo, Clave, Mensaje, Veces }) => ({
            Tipo,
            Clave,
            Veces,
            Mensaje,
          })),
        };
        if (context.asJson) return context.print.json(document);
        const { equipos } = document;
        context.print.fields([
          ['pausa', document.pausa === null ? 'no' : `hasta ${document.pausa}`],
          ...(lease === undefined ? [] : [['turno', document.turno ?? '-'] as [string, string]]),
          [
            'equipos',
            `${equipos.total}, activos ${equipos.activos}, conectados ${equipos.conectados}`,
          ],
          [
            'en curso',
            String(open.filter(({ state }) => activeStates.some((one) => one === state)).length),
          ],
          [
            'estados',
            states.map(([state, list = []]) => `${state} ${list.length}`).join(', ') || '-',
          ],
        ]);
        show(context, ['ciclo', 'fin', 'vueltas', 'resultado'], document.ciclos);
        if (document.avisos.length > 0)
          show(context, ['Tipo', 'Clave', 'Veces', 'Mensaje'], document.avisos);
      }),
  };
}

export function restoreCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'restore-assignment [number]',
    description: 'Put back an assignment that a 400 took away; without a number, list them.',
    needsServer: false,
    run: (context) =>
      withTables(context, parts, async ({ db, moment, by }) => {
        const [text] = context.arguments;
        if (text !== undefined) {
          const id = Number(text);
          if (!Number.isInteger(id)) throw new UsageError(`"${text}" is no number of the list`);
          await restoreAssignment(db, id, { ...moment, by });
          context.print.line(`assignment ${id} is back`);
          return;
        }
        const rows = await db
          .selectFrom('AsignacionesRetiradas as a')
          .leftJoin('Robots as r', 'r.RobotId', 'a.RobotId')
          .leftJoin('Equipos as e', 'e.EquipoId', 'a.EquipoId')
          .selectAll('a')
          .select(['r.Robot', 'e.Equipo'])
          .orderBy('a.RetiradaId', 'desc')
          .execute();
        const shown = rows.map((row) => ({
          ...row,
          Retirada: inZone(row.RetiradaUtc, moment.zone),
          Restaurada: inZone(row.RestauradaUtc, moment.zone),
        }));
        const columns = [
          'RetiradaId',
          'Robot',
          'Equipo',
          'ProgramacionId',
          'Retirada',
          'Restaurada',
        ];
        show(context, [...columns, 'Motivo'], shown);
      }),
  };
}

export function diagnoseCommand(parts: CommandParts): LauncherCommand {
  return {
    name: 'diagnose [device]',
    description:
      'Why robots are not deployed, states are not updated, devices refuse with 412, and assignments are gone. `why <job>` tells of one execution.',
    run: ({ client, ...context }) =>
      withTables(context, parts, async (tables) => {
        const { verdicts, open } = await verdictsNow(tables, client);
        const [name] = context.arguments;
        const device = name === undefined ? null : (await deviceNamed(tables.db, name)).Equipo;
        const sections = await diagnose(tables, { verdicts, open, device });
        if (context.asJson) return context.print.json(sections);
        for (const { question, answers } of sections) {
          context.print.line(context.print.style('bold', question));
          for (const answer of answers) context.print.line(`  ${answer}`);
        }
      }),
  };
}
