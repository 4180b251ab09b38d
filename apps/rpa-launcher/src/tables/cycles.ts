import type { Db } from './database.ts';
import type { CicloRow } from './schema.ts';

export type CycleName = 'sincronizador' | 'desplegador' | 'conciliador';

/** When the cycle began last, or null. */
export async function lastCycle(db: Db, name: CycleName): Promise<CicloRow | null> {
  const row = await db
    .selectFrom('Ciclos')
    .selectAll()
    .where('Ciclo', '=', name)
    .executeTakeFirst();
  return row ?? null;
}

/** The one thing that a cycle writes which changes nothing (S-90). */
export async function countCycle(
  db: Db,
  name: CycleName,
  times: { readonly begun: number; readonly ended: number; readonly result: string },
): Promise<void> {
  const values = {
    InicioUtc: times.begun,
    FinUtc: times.ended,
    Resultado: times.result.slice(0, 1_000),
  };
  const { numUpdatedRows } = await db
    .updateTable('Ciclos')
    .set((eb) => ({ ...values, Vueltas: eb('Vueltas', '+', 1) }))
    .where('Ciclo', '=', name)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) return;
  await db
    .insertInto('Ciclos')
    .values({ Ciclo: name, Duenio: '', HastaUtc: 0, Vueltas: 1, ...values })
    .execute();
}

export const leaseName = 'turno';

/**
 * Who of several launchers on these tables works; the others stand by (LH-20).
 * @returns whether it is `owner`
 */
export async function takeTurn(
  db: Db,
  { owner, now, forMs }: { readonly owner: string; readonly now: number; readonly forMs: number },
): Promise<boolean> {
  const values = { Duenio: owner, HastaUtc: now + forMs };
  const { numUpdatedRows } = await db
    .updateTable('Ciclos')
    .set(values)
    .where('Ciclo', '=', leaseName)
    .where((eb) => eb.or([eb('Duenio', '=', owner), eb('HastaUtc', '<', now)]))
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) return true;
  const there = await db
    .selectFrom('Ciclos')
    .select('Duenio')
    .where('Ciclo', '=', leaseName)
    .executeTakeFirst();
  if (there !== undefined) return false;
  try {
    await db
      .insertInto('Ciclos')
      .values({ Ciclo: leaseName, ...values, InicioUtc: now, FinUtc: null, Vueltas: 0 })
      .execute();
    return true;
  } catch {
    // Another one was faster.
    return false;
  }
}

export async function giveTurnUp(db: Db, owner: string): Promise<void> {
  await db
    .updateTable('Ciclos')
    .set({ HastaUtc: 0 })
    .where('Ciclo', '=', leaseName)
    .where('Duenio', '=', owner)
    .execute();
}
