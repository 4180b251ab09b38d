import { type CreateTableBuilder, type Kysely, sql } from 'kysely';
import { type ColumnTypes, columnTypes, type DatabaseKind } from '../kind.ts';

type Db = Kysely<unknown>;
type Table = CreateTableBuilder<string, string>;

/** The tables of the seed, with what the launcher adds. Released: never changed again. */
export function firstMigration(kind: DatabaseKind) {
  const types = columnTypes[kind];
  return {
    async up(db: Db): Promise<void> {
      for (const table of tables(kind, types)) await table(db).execute();
      for (const [name, table, columns] of indexes) {
        await db.schema.createIndex(name).on(table).columns(columns).execute();
      }
    },
  };
}

const indexes: readonly (readonly [string, string, string[]])[] = [
  ['IX_Asignaciones_Programacion', 'Asignaciones', ['ProgramacionId']],
  ['IX_Ejecuciones_Robot', 'Ejecuciones', ['RobotId', 'EquipoId', 'FechaInicioUtc']],
  ['IX_Ejecuciones_Fin', 'Ejecuciones', ['FechaFinUtc']],
  ['IX_Historico_Fin', 'Ejecuciones_Historico', ['FechaFinUtc']],
  ['IX_Callbacks_Deployment', 'Callbacks', ['DeploymentId']],
];

/** Exported for the texts of SQL Server, which are compared and not run. */
export function tables(kind: DatabaseKind, types: ColumnTypes): ((db: Db) => Table)[] {
  const numbered = (table: Table, column: string): Table =>
    table.addColumn(column, kind === 'postgres' ? 'serial' : types.int, (c) =>
      kind === 'mssql'
        ? c.identity().primaryKey()
        : kind === 'sqlite'
          ? c.autoIncrement().primaryKey()
          : c.primaryKey(),
    );
  return [
    ...masterTables(types, numbered),
    ...planTables(types, numbered),
    (db) => executionColumns(numbered(db.schema.createTable('Ejecuciones'), 'EjecucionId'), types),
    (db) =>
      executionColumns(
        numbered(db.schema.createTable('Ejecuciones_Historico'), 'HistoricoId').addColumn(
          'EjecucionId',
          types.int,
          (c) => c.notNull(),
        ),
        types,
      ),
    ...ownTables(types, numbered),
  ];
}

type Numbered = (table: Table, column: string) => Table;

function masterTables({ bit, int, local, text }: ColumnTypes, numbered: Numbered) {
  return [
    (db: Db): Table =>
      numbered(db.schema.createTable('Pools'), 'PoolId')
        .addColumn('Nombre', text(100), (c) => c.notNull().unique())
        .addColumn('Descripcion', text(500))
        .addColumn('Activo', bit, (c) => c.notNull().defaultTo(1))
        .addColumn('FechaCreacion', local)
        .addColumn('FechaModificacion', local),
    (db: Db): Table =>
      db.schema
        .createTable('Robots')
        .addColumn('RobotId', int, (c) => c.primaryKey())
        .addColumn('Robot', text(100), (c) => c.notNull())
        .addColumn('Descripcion', text(4000))
        .addColumn('Parametros', text('max'))
        .addColumn('Activo', bit, (c) => c.notNull().defaultTo(1))
        .addColumn('EsOnline', bit, (c) => c.notNull().defaultTo(0))
        .addColumn('MinEquipos', int, (c) => c.notNull().defaultTo(1))
        .addColumn('MaxEquipos', int, (c) => c.notNull().defaultTo(-1))
        .addColumn('PrioridadBalanceo', int, (c) => c.notNull().defaultTo(100))
        .addColumn('TicketsPorEquipoAdicional', int, (c) => c.notNull().defaultTo(10))
        .addColumn('PoolId', int, (c) => c.references('Pools.PoolId').onDelete('set null')),
    (db: Db): Table =>
      db.schema
        .createTable('Equipos')
        .addColumn('EquipoId', int, (c) => c.primaryKey())
        .addColumn('Equipo', text(100), (c) => c.notNull())
        .addColumn('UserId', int, (c) => c.notNull())
        .addColumn('UserName', text(50))
        .addColumn('Licencia', text(200))
        .addColumn('Activo_SAM', bit, (c) => c.notNull().defaultTo(1))
        .addColumn('EstadoBalanceador', text(50))
        .addColumn('PermiteBalanceoDinamico', bit, (c) => c.notNull().defaultTo(1))
        .addColumn('PoolId', int, (c) => c.references('Pools.PoolId').onDelete('set null'))
        .addColumn('EstadoA360', text(50))
        .addColumn('Conectado', bit, (c) => c.notNull().defaultTo(1))
        .addColumn('Ausencias', int, (c) => c.notNull().defaultTo(0)),
    (db: Db): Table =>
      db.schema
        .createTable('ConfiguracionSistema')
        .addColumn('Clave', text(50), (c) => c.primaryKey())
        .addColumn('Valor', text('max'))
        .addColumn('Descripcion', text(500))
        .addColumn('FechaActualizacion', local)
        .addColumn('RequiereReinicio', bit, (c) => c.notNull().defaultTo(1)),
  ];
}

const kinds = ['Diaria', 'Semanal', 'Mensual', 'Especifica', 'RangoMensual'];

function planTables(types: ColumnTypes, numbered: Numbered) {
  const { bit, int, local, date, time, instant, text } = types;
  const assignment = (table: Table): Table =>
    table
      .addColumn('RobotId', int, (c) => c.notNull())
      .addColumn('EquipoId', int, (c) => c.notNull())
      .addColumn('EsProgramado', bit, (c) => c.notNull().defaultTo(0))
      .addColumn('Reservado', bit, (c) => c.notNull().defaultTo(0))
      .addColumn('FechaAsignacion', local)
      .addColumn('AsignadoPor', text(50))
      .addColumn('ProgramacionId', int);
  return [
    (db: Db): Table =>
      numbered(db.schema.createTable('Programaciones'), 'ProgramacionId')
        .addColumn('RobotId', int, (c) => c.notNull())
        .addColumn('TipoProgramacion', text(20), (c) =>
          c
            .notNull()
            .check(sql`${sql.ref('TipoProgramacion')} in (${sql.join(kinds.map(sql.lit))})`),
        )
        .addColumn('HoraInicio', time, (c) => c.notNull())
        .addColumn('DiasSemana', text(20))
        .addColumn('DiaDelMes', int)
        .addColumn('FechaEspecifica', date)
        .addColumn('Tolerancia', int, (c) => c.defaultTo(60))
        .addColumn('Activo', bit, (c) => c.notNull().defaultTo(1))
        .addColumn('FechaCreacion', local)
        .addColumn('FechaModificacion', local)
        .addColumn('DiaInicioMes', int)
        .addColumn('DiaFinMes', int)
        .addColumn('UltimosDiasMes', int)
        .addColumn('EsCiclico', bit, (c) => c.notNull().defaultTo(0))
        .addColumn('HoraFin', time)
        .addColumn('FechaInicioVentana', date)
        .addColumn('FechaFinVentana', date)
        .addColumn('IntervaloEntreEjecuciones', int),
    (db: Db): Table =>
      assignment(
        numbered(db.schema.createTable('Asignaciones'), 'AsignacionId'),
      ).addUniqueConstraint('UQ_Asignaciones', ['RobotId', 'EquipoId', 'ProgramacionId']),
    (db: Db): Table =>
      assignment(numbered(db.schema.createTable('AsignacionesRetiradas'), 'RetiradaId'))
        .addColumn('PermiteBalanceoDinamico', bit, (c) => c.notNull())
        .addColumn('Motivo', text(1000), (c) => c.notNull())
        .addColumn('JobId', text(36), (c) => c.notNull())
        .addColumn('RetiradaUtc', instant, (c) => c.notNull())
        .addColumn('RestauradaUtc', instant)
        .addColumn('RestauradaPor', text(50)),
  ];
}

function executionColumns(
  table: Table,
  { bit, int, local, date, time, instant, text }: ColumnTypes,
) {
  return table
    .addColumn('DeploymentId', text(50), (c) => c.notNull().unique())
    .addColumn('RobotId', int, (c) => c.notNull())
    .addColumn('EquipoId', int, (c) => c.notNull())
    .addColumn('UserId', int, (c) => c.notNull())
    .addColumn('Hora', time)
    .addColumn('FechaInicio', local, (c) => c.notNull())
    .addColumn('FechaFin', local)
    .addColumn('Estado', text(20), (c) => c.notNull())
    .addColumn('FechaActualizacion', local, (c) => c.notNull())
    .addColumn('CallbackInfo', text('max'))
    .addColumn('IntentosConciliadorFallidos', int, (c) => c.notNull().defaultTo(0))
    .addColumn('FechaUltimoUNKNOWN', local)
    .addColumn('FechaPrimerUNKNOWN', local)
    .addColumn('FechaInicioReal', local)
    .addColumn('JobId', text(36), (c) => c.notNull().unique())
    .addColumn('Origen', text(20), (c) => c.notNull())
    .addColumn('ProgramacionId', int)
    .addColumn('FechaTeorica', date)
    .addColumn('Motivo', text(1000))
    .addColumn('InicioEnPausa', bit, (c) => c.notNull().defaultTo(0))
    .addColumn('FechaInicioUtc', instant, (c) => c.notNull())
    .addColumn('FechaFinUtc', instant)
    .addColumn('FechaUltimoUnknownUtc', instant)
    .addColumn('FechaInicioRealUtc', instant);
}

function ownTables({ bit, int, local, instant, text }: ColumnTypes, numbered: Numbered) {
  return [
    (db: Db): Table =>
      numbered(db.schema.createTable('Callbacks'), 'CallbackId')
        .addColumn('RecibidoUtc', instant, (c) => c.notNull())
        .addColumn('DeploymentId', text(50), (c) => c.notNull())
        .addColumn('JobId', text(36))
        .addColumn('Estado', text(50), (c) => c.notNull())
        .addColumn('Cuerpo', text('max'), (c) => c.notNull())
        .addColumn('Resultado', text(20), (c) => c.notNull()),
    (db: Db): Table =>
      db.schema
        .createTable('Fallos')
        .addColumn('RobotId', int, (c) => c.notNull())
        .addColumn('Equipo', text(100), (c) => c.notNull())
        .addColumn('Consecutivos', int, (c) => c.notNull())
        .addColumn('ProximoUtc', instant, (c) => c.notNull())
        .addColumn('Motivo', text(1000), (c) => c.notNull())
        .addPrimaryKeyConstraint('PK_Fallos', ['RobotId', 'Equipo']),
    (db: Db): Table =>
      db.schema
        .createTable('Avisos')
        .addColumn('Tipo', text(50), (c) => c.notNull())
        .addColumn('Clave', text(200), (c) => c.notNull())
        .addColumn('Veces', int, (c) => c.notNull())
        .addColumn('PrimeroUtc', instant, (c) => c.notNull())
        .addColumn('UltimoUtc', instant, (c) => c.notNull())
        .addColumn('EnviadoUtc', instant)
        .addColumn('SinEnviar', bit, (c) => c.notNull())
        .addColumn('Mensaje', text('max'), (c) => c.notNull())
        .addColumn('Datos', text('max'), (c) => c.notNull())
        .addPrimaryKeyConstraint('PK_Avisos', ['Tipo', 'Clave']),
    (db: Db): Table =>
      db.schema
        .createTable('Ciclos')
        .addColumn('Ciclo', text(50), (c) => c.primaryKey())
        .addColumn('Duenio', text(100), (c) => c.notNull())
        .addColumn('HastaUtc', instant, (c) => c.notNull())
        .addColumn('InicioUtc', instant, (c) => c.notNull())
        .addColumn('FinUtc', instant)
        .addColumn('Vueltas', int, (c) => c.notNull())
        .addColumn('Resultado', text(1000)),
    (db: Db): Table =>
      db.schema
        .createTable('Posiciones')
        .addColumn('Nombre', text(50), (c) => c.primaryKey())
        .addColumn('Posicion', instant, (c) => c.notNull()),
    (db: Db): Table =>
      numbered(db.schema.createTable('Auditoria'), 'AuditoriaId')
        .addColumn('Fecha', local, (c) => c.notNull())
        .addColumn('FechaUtc', instant, (c) => c.notNull())
        .addColumn('Accion', text(50), (c) => c.notNull())
        .addColumn('Entidad', text(50), (c) => c.notNull())
        .addColumn('EntidadId', text(100), (c) => c.notNull())
        .addColumn('Detalle', text('max'))
        .addColumn('Host', text(100))
        .addColumn('Usuario', text(50)),
  ];
}
