import { type ExecutionInput, type ExecutionRecord, hostOf } from '../execution/record.ts';
import type { EquipoRow, PoolRow, RobotRow } from '../tables/schema.ts';
import type { Pause } from './pause.ts';
import type { Schedule } from './slots.ts';

export type Robot = Pick<
  { [K in keyof RobotRow]: Plain<RobotRow[K]> },
  'RobotId' | 'Robot' | 'Parametros' | 'Activo' | 'EsOnline' | 'PrioridadBalanceo'
>;
export type Device = Pick<
  { [K in keyof EquipoRow]: Plain<EquipoRow[K]> },
  'EquipoId' | 'Equipo' | 'UserId' | 'Activo_SAM' | 'PoolId' | 'Conectado' | 'EstadoA360'
>;
export type Pool = { [K in keyof Pick<PoolRow, 'PoolId' | 'Activo'>]: number };

/** What a column with a default is when it is read. */
export type Plain<T> = T extends { readonly __select__: infer S } ? S : T;

export interface Assignment {
  readonly RobotId: number;
  readonly EquipoId: number;
  readonly EsProgramado: number;
  readonly ProgramacionId: number | null;
}

/** The tables that others write, as one deploy cycle has read them (S-93). */
export interface PlanTables {
  readonly robots: readonly Robot[];
  readonly devices: readonly Device[];
  readonly assignments: readonly Assignment[];
  readonly schedules: readonly Schedule[];
  readonly pools: readonly Pool[];
  /** Why and until when a robot is not tried again on a device, by `pairKey`. */
  readonly failures: ReadonlyMap<string, { readonly notBefore: number; readonly reason: string }>;
  /** When the last run of a robot on a device ended, by `pairKey`. */
  readonly lastEnds: ReadonlyMap<string, number>;
  /** Slots that were deployed, by `executedKey`. */
  readonly executed: ReadonlySet<string>;
}

/** A job that has not ended. */
export interface OpenExecution {
  readonly id: string;
  readonly state: string;
  readonly isQuarantined: boolean;
  /** Ms since 1970 UTC, when the present state was entered. */
  readonly enteredAt: number;
  readonly input: ExecutionInput;
  readonly record: ExecutionRecord;
}

export interface PlanInput extends PlanTables {
  readonly now: number;
  readonly zone: string;
  readonly pause: Pause | null;
  /** Whether the tables know which devices are connected: without synchronisation they don't. */
  readonly knowsConnections: boolean;
  readonly open: readonly OpenExecution[];
  /** Keys of slots whose job was started before. */
  readonly started: ReadonlySet<string>;
}

export function pairKey(robotId: number, device: string): string {
  return `${robotId}/${hostOf(device)}`;
}

type SlotWords = Pick<ExecutionInput, 'robotId' | 'device' | 'date' | 'hour'>;

/** One run for each robot, device, theoretical local date and hour (L-20, LH-9). */
export function slotKey({ robotId, device, date, hour }: SlotWords): string {
  return `${pairKey(robotId, device)}/${date}/${hour}`;
}

/** A slot by the device's id, which stays when the host is renamed. */
export function executedKey(
  robotId: number,
  deviceId: number,
  { date, hour }: Pick<SlotWords, 'date' | 'hour'>,
): string {
  return `${robotId}/${deviceId}/${date}/${hour}`;
}
