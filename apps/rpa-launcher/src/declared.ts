import { join } from 'node:path';
import { CapatazError } from 'capataz';
import type { Config, SettingDeclarations, SettingValues } from 'capataz/server';
import type { Database } from './tables/database.ts';

/** The settings that the server itself has for the launcher; all others are the seed's variables. */
export const settings = {
  databaseUrl: {
    type: 'string',
    default: null,
    secret: true,
    meaning:
      'PostgreSQL for the launcher’s tables, in place of a file in the data folder: `postgres://user:password@host:5432/database`, with `?schema=` for one that is not `capataz_rpa`.',
  },
} as const satisfies SettingDeclarations;

/** Rows of ConfiguracionSistema, which go before environment and file. */
export type StoredSettings = Readonly<Record<string, string>>;

/**
 * Where the tables lie: in a file of their own, since the store of the jobs is the server's alone.
 * @throws CapatazError CONFIG_INVALID
 */
export function tablesPlace(
  { dataDir }: Pick<Config, 'dataDir'>,
  { databaseUrl }: SettingValues<typeof settings>,
): string {
  if (databaseUrl === null) return join(dataDir, 'rpa.sqlite');
  // Anything else would be taken for the name of a file, and the tables would be empty ones.
  if (databaseUrl !== ':memory:' && !/^postgres(?:ql)?:\/\//.test(databaseUrl))
    throw new CapatazError('CONFIG_INVALID', 'database_url: must begin with postgres://');
  return databaseUrl;
}

export async function storedSettings({ db }: Database): Promise<StoredSettings> {
  const rows = await db.selectFrom('ConfiguracionSistema').select(['Clave', 'Valor']).execute();
  return Object.fromEntries(
    rows.flatMap(({ Clave, Valor }) => (Valor === null ? [] : [[Clave, Valor]])),
  );
}
