import type { Generated } from 'kysely';

/**
 * The tables as the seed names them. Columns of dates without `Utc` are for people: local wall time of
 * the launcher's zone, `YYYY-MM-DD HH:MM:SS`. Only `…Utc` decides anything: ms since 1970 (S-85).
 */
export interface Tables {
  Robots: RobotRow;
  Equipos: EquipoRow;
  Asignaciones: AsignacionRow;
  AsignacionesRetiradas: AsignacionRetiradaRow;
  Programaciones: ProgramacionRow;
  Pools: PoolRow;
  ConfiguracionSistema: ConfiguracionRow;
  Ejecuciones: EjecucionRow;
  Ejecuciones_Historico: EjecucionRow & { readonly HistoricoId: Generated<number> };
  Callbacks: CallbackRow;
  Fallos: FalloRow;
  Avisos: AvisoRow;
  Ciclos: CicloRow;
  Auditoria: AuditoriaRow;
  Posiciones: { Nombre: string; Posicion: number };
}

/** 0 or 1, as every database has it. */
export type Bit = number;

export interface RobotRow {
  /** The file's id in the Control Room. */
  RobotId: number;
  Robot: string;
  Descripcion: string | null;
  /** JSON of the bot input, which replaces the default one whole. */
  Parametros: string | null;
  Activo: Generated<Bit>;
  EsOnline: Generated<Bit>;
  MinEquipos: Generated<number>;
  MaxEquipos: Generated<number>;
  PrioridadBalanceo: Generated<number>;
  TicketsPorEquipoAdicional: Generated<number>;
  PoolId: number | null;
}

export interface EquipoRow {
  /** The device's id in the Control Room; it changes when a device is registered anew. */
  EquipoId: number;
  /** The host name. */
  Equipo: string;
  UserId: number;
  UserName: string | null;
  Licencia: string | null;
  /** The operator's switch: a synchronisation never touches it. */
  Activo_SAM: Generated<Bit>;
  EstadoBalanceador: string | null;
  PermiteBalanceoDinamico: Generated<Bit>;
  PoolId: number | null;
  /** What the Control Room said last of its connection. */
  EstadoA360: string | null;
  Conectado: Generated<Bit>;
  /** Synchronisations in a row in which it was missing. */
  Ausencias: Generated<number>;
}

export interface AsignacionRow {
  AsignacionId: Generated<number>;
  RobotId: number;
  EquipoId: number;
  EsProgramado: Generated<Bit>;
  Reservado: Generated<Bit>;
  FechaAsignacion: string | null;
  AsignadoPor: string | null;
  ProgramacionId: number | null;
}

/** What a permanent 400 took out of Asignaciones, and can be put back (LH-7). */
export interface AsignacionRetiradaRow {
  RetiradaId: Generated<number>;
  RobotId: number;
  EquipoId: number;
  EsProgramado: Bit;
  Reservado: Bit;
  FechaAsignacion: string | null;
  AsignadoPor: string | null;
  ProgramacionId: number | null;
  /** Its device's PermiteBalanceoDinamico before, which a restoration sets again. */
  PermiteBalanceoDinamico: Bit;
  Motivo: string;
  JobId: string;
  RetiradaUtc: number;
  RestauradaUtc: number | null;
  RestauradaPor: string | null;
}

export interface ProgramacionRow {
  ProgramacionId: Generated<number>;
  RobotId: number;
  TipoProgramacion: string;
  /** `HH:MM` or `HH:MM:SS`. */
  HoraInicio: string;
  /** `Lu,Ma,Mi,Ju,Vi,Sa,Do` */
  DiasSemana: string | null;
  DiaDelMes: number | null;
  /** `YYYY-MM-DD` */
  FechaEspecifica: string | null;
  /** Minutes. Null: 60. */
  Tolerancia: number | null;
  Activo: Generated<Bit>;
  FechaCreacion: string | null;
  FechaModificacion: string | null;
  DiaInicioMes: number | null;
  DiaFinMes: number | null;
  UltimosDiasMes: number | null;
  EsCiclico: Generated<Bit>;
  HoraFin: string | null;
  FechaInicioVentana: string | null;
  FechaFinVentana: string | null;
  /** Minutes from the end of one run to the start of the next. */
  IntervaloEntreEjecuciones: number | null;
}

export interface PoolRow {
  PoolId: Generated<number>;
  Nombre: string;
  Descripcion: string | null;
  Activo: Generated<Bit>;
  FechaCreacion: string | null;
  FechaModificacion: string | null;
}

export interface ConfiguracionRow {
  Clave: string;
  Valor: string | null;
  Descripcion: string | null;
  FechaActualizacion: string | null;
  RequiereReinicio: Generated<Bit>;
}

/** Projected from the jobs: one row a deployment that was made or failed for good (S-55). */
export interface EjecucionRow {
  EjecucionId: Generated<number>;
  /** `local:<job id>` where the Control Room has none. */
  DeploymentId: string;
  RobotId: number;
  EquipoId: number;
  UserId: number;
  /** The hour of the schedule; null for online robots. */
  Hora: string | null;
  FechaInicio: string;
  FechaFin: string | null;
  Estado: string;
  FechaActualizacion: string;
  CallbackInfo: string | null;
  IntentosConciliadorFallidos: Generated<number>;
  FechaUltimoUNKNOWN: string | null;
  FechaPrimerUNKNOWN: string | null;
  FechaInicioReal: string | null;
  JobId: string;
  /** `programada`, `ciclica`, `online` or `manual`. */
  Origen: string;
  ProgramacionId: number | null;
  /** The local date of the slot, which the hour belongs to, whenever it ran (LH-9). */
  FechaTeorica: string | null;
  Motivo: string | null;
  /** The robot began to run while deployments pause: it had waited in a queue (B-067). */
  InicioEnPausa: Generated<Bit>;
  FechaInicioUtc: number;
  FechaFinUtc: number | null;
  FechaUltimoUnknownUtc: number | null;
  FechaInicioRealUtc: number | null;
}

/** Every callback as it came: what arrived early or late is evidence (LH-10, LH-11). */
export interface CallbackRow {
  CallbackId: Generated<number>;
  RecibidoUtc: number;
  DeploymentId: string;
  JobId: string | null;
  Estado: string;
  Cuerpo: string;
  Resultado: string;
}

/** Failures in a row of a robot on a device, which delay the next try (LH-18). */
export interface FalloRow {
  RobotId: number;
  Equipo: string;
  Consecutivos: number;
  ProximoUtc: number;
  Motivo: string;
}

/** Marks of alerts: what was told already. */
export interface AvisoRow {
  Tipo: string;
  Clave: string;
  Veces: number;
  PrimeroUtc: number;
  UltimoUtc: number;
  EnviadoUtc: number | null;
  /** A mail is due that could not be sent yet. */
  SinEnviar: Bit;
  Mensaje: string;
  /** JSON of the table of the mail. */
  Datos: string;
}

/** A cycle's counter, and who runs it while several launchers share the tables (LH-20). */
export interface CicloRow {
  Ciclo: string;
  Duenio: string;
  HastaUtc: number;
  InicioUtc: number;
  FinUtc: number | null;
  Vueltas: number;
  Resultado: string | null;
}

export interface AuditoriaRow {
  AuditoriaId: Generated<number>;
  Fecha: string;
  FechaUtc: number;
  Accion: string;
  Entidad: string;
  EntidadId: string;
  Detalle: string | null;
  Host: string | null;
  Usuario: string | null;
}
