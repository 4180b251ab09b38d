import { localText } from '../planning/local-time.ts';
import type { Db } from './database.ts';

export interface AuditEntry {
  readonly action: string;
  readonly entity: string;
  readonly id: string | number;
  readonly detail?: string;
  readonly by: string;
}

/** Who changed what: operators by command, and the launcher where it takes something away. */
export async function audit(
  db: Db,
  { action, entity, id, detail, by }: AuditEntry,
  { now, zone, host }: { readonly now: number; readonly zone: string; readonly host?: string },
): Promise<void> {
  await db
    .insertInto('Auditoria')
    .values({
      Fecha: localText(now, zone),
      FechaUtc: now,
      Accion: action,
      Entidad: entity,
      EntidadId: String(id),
      Detalle: detail ?? null,
      Host: host ?? null,
      Usuario: by.slice(0, 50),
    })
    .execute();
}
