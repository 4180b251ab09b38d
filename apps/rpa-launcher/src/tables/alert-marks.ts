import type { AlertKind, AlertMark, AlertMarks, Facts } from '../alerts/contract.ts';
import { type Db, inTransaction } from './database.ts';

/** What people were told already, which a restart must not forget (LH-19). */
export function storedAlertMarks(db: Db): AlertMarks {
  return {
    async all() {
      const rows = await db.selectFrom('Avisos').selectAll().execute();
      return rows.map(
        (row): AlertMark => ({
          // Only `put` writes kinds.
          kind: row.Tipo as AlertKind,
          key: row.Clave,
          count: row.Veces,
          firstRaisedAt: row.PrimeroUtc,
          lastRaisedAt: row.UltimoUtc,
          mailedAt: row.EnviadoUtc,
          isUnsent: row.SinEnviar === 1,
          message: row.Mensaje,
          facts: JSON.parse(row.Datos) as Facts,
        }),
      );
    },
    async put(mark) {
      const key = { Tipo: mark.kind, Clave: mark.key.slice(0, 200) };
      const values = {
        Veces: mark.count,
        PrimeroUtc: mark.firstRaisedAt,
        UltimoUtc: mark.lastRaisedAt,
        EnviadoUtc: mark.mailedAt,
        SinEnviar: mark.isUnsent ? 1 : 0,
        Mensaje: mark.message,
        Datos: JSON.stringify(mark.facts),
      };
      await inTransaction(db, async (tx) => {
        const { numUpdatedRows } = await tx
          .updateTable('Avisos')
          .set(values)
          .where('Tipo', '=', key.Tipo)
          .where('Clave', '=', key.Clave)
          .executeTakeFirstOrThrow();
        if (numUpdatedRows === 0n)
          await tx
            .insertInto('Avisos')
            .values({ ...key, ...values })
            .execute();
      });
    },
    async remove(kind, key) {
      await db
        .deleteFrom('Avisos')
        .where('Tipo', '=', kind)
        .where('Clave', '=', key.slice(0, 200))
        .execute();
    },
  };
}
