import { hostOf } from '../execution/record.ts';
import { isActive } from '../execution/states.ts';
import type { OpenExecution } from '../planning/model.ts';
import { pauseOf } from '../planning/pause.ts';
import type { CicloRow } from '../tables/schema.ts';
import type { Tables } from './context.ts';
import { inZone, type ShownVerdict } from './executions.ts';

export interface Section {
  readonly question: string;
  readonly answers: readonly string[];
}

interface Seen {
  readonly verdicts: readonly ShownVerdict[];
  readonly open: readonly OpenExecution[];
  /** Null: of all devices. */
  readonly device: string | null;
}

/** The four questions that operators ask, answered from what the launcher knows. */
export async function diagnose(tables: Tables, seen: Seen): Promise<Section[]> {
  const isMeant = (host: string | null): boolean =>
    seen.device === null || hostOf(host ?? '') === hostOf(seen.device);
  const running = new Map(
    seen.open
      .filter(({ state }) => state !== 'PENDIENTE')
      .map(({ id, state, input }) => [
        hostOf(input.device),
        `${input.robot} is ${state} there (${id})`,
      ]),
  );
  const sections: Section[] = [
    { question: 'Why are robots not deployed?', answers: await notDeployed(tables, seen, isMeant) },
    { question: 'Why are states not updated?', answers: await notUpdated(tables, seen, isMeant) },
    {
      question: 'Which devices refuse with 412?',
      answers: await refusing(tables, running, isMeant),
    },
    { question: 'Which assignments are gone?', answers: await gone(tables, isMeant) },
  ];
  return sections.map(({ question, answers }) => ({
    question,
    answers: answers.length === 0 ? ['nothing to tell'] : answers,
  }));
}

type IsMeant = (host: string | null) => boolean;

async function cycleAnswer({ db, settings, moment }: Tables, name: string, everyMs: number) {
  const row: CicloRow | undefined = await db
    .selectFrom('Ciclos')
    .selectAll()
    .where('Ciclo', '=', name)
    .executeTakeFirst();
  if (row?.FinUtc == null) return [`${name} has not run yet`];
  const ago = moment.now - row.FinUtc;
  const last = inZone(row.FinUtc, settings.zone);
  return ago > 3 * everyMs + 60_000 ? [`${name} ran last at ${last}: does the launcher run?`] : [];
}

/** What keeps all cycles from their work. */
async function trouble({ db }: Tables): Promise<string[]> {
  const alerts = await db
    .selectFrom('Avisos')
    .select('Mensaje')
    .where('Tipo', 'in', [
      'control_room_down',
      'credentials_rejected',
      'database_down',
      'cycle_failed',
    ])
    .execute();
  return alerts.map(({ Mensaje }) => Mensaje);
}

async function notDeployed(tables: Tables, { verdicts }: Seen, isMeant: IsMeant) {
  const { settings, moment } = tables;
  const window = pauseOf(settings)?.at(moment.now) ?? null;
  return [
    ...(window === null ? [] : [`deployments pause until ${inZone(window.end, settings.zone)}`]),
    ...(await cycleAnswer(tables, 'desplegador', settings.deployIntervalMs)),
    ...(await trouble(tables)),
    ...verdicts
      .filter(({ Ahora, Equipo }) => Ahora === 'no' && isMeant(Equipo))
      .map(({ Robot, Equipo, Motivo }) => `${Robot} on ${Equipo}: ${Motivo}`),
  ];
}

async function notUpdated(tables: Tables, { open }: Seen, isMeant: IsMeant) {
  const { settings } = tables;
  const running = open.filter(
    ({ state, input }) => (isActive(state) || isOdd(state)) && isMeant(input.device),
  );
  return [
    ...(await cycleAnswer(tables, 'conciliador', settings.reconcileIntervalMs)),
    ...(await trouble(tables)),
    ...running.flatMap(({ id, state, input, record }) => {
      const where = `${input.robot} on ${input.device} (${id})`;
      if (state === 'SIN_CONFIRMAR')
        return [
          `${where}: nobody knows whether it was deployed; ${record.absences} look-ups found nothing`,
        ];
      if (state === 'UNKNOWN')
        return [
          `${where}: the Control Room says UNKNOWN since ${inZone(record.firstUnknownAt, settings.zone)}; it is asked again each cycle`,
        ];
      if (record.misses > 0)
        return [
          `${where}: the Control Room did not know ${record.deploymentId} ${record.misses} times`,
        ];
      return [];
    }),
  ];
}

function isOdd(state: string): boolean {
  return state === 'UNKNOWN' || state === 'SIN_CONFIRMAR';
}

async function refusing(
  { db, settings }: Tables,
  running: ReadonlyMap<string, string>,
  isMeant: IsMeant,
) {
  const alerts = await db
    .selectFrom('Avisos')
    .selectAll()
    .where('Tipo', '=', 'device_unavailable')
    .execute();
  const devices = await db.selectFrom('Equipos').selectAll().execute();
  return alerts.flatMap(({ Clave, Veces, Mensaje, UltimoUtc }) => {
    if (!isMeant(Clave)) return [];
    const device = devices.find(({ Equipo }) => hostOf(Equipo) === Clave);
    const facts =
      device === undefined
        ? 'the device is unknown'
        : `${device.EstadoA360 ?? 'no state'}, license ${device.Licencia ?? 'none'}, ${device.Activo_SAM === 1 ? 'switched on' : 'switched off'}`;
    const times = Veces === 1 ? 'one cycle' : `${Veces} cycles in a row`;
    const run = running.get(Clave);
    return [
      `${Clave}: ${times}, last at ${inZone(UltimoUtc, settings.zone)}; ${facts}${run === undefined ? '' : `; ${run}`}; ${Mensaje}`,
    ];
  });
}

async function gone({ db, settings }: Tables, isMeant: IsMeant) {
  const rows = await db
    .selectFrom('AsignacionesRetiradas as a')
    .leftJoin('Robots as r', 'r.RobotId', 'a.RobotId')
    .leftJoin('Equipos as e', 'e.EquipoId', 'a.EquipoId')
    .selectAll('a')
    .select(['r.Robot', 'e.Equipo'])
    .where('a.RestauradaUtc', 'is', null)
    .execute();
  return rows
    .filter(({ Equipo }) => isMeant(Equipo))
    .map(
      (row) =>
        `${row.Robot} on ${row.Equipo}, taken away at ${inZone(row.RetiradaUtc, settings.zone)}: ${row.Motivo}; put it back with: restore-assignment ${row.RetiradaId}`,
    );
}
