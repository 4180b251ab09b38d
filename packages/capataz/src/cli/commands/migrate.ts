import { Command } from 'commander';
import type { Config } from '../../config/settings.ts';
import { storeName } from '../../config/store-place.ts';
import type { Migration } from '../../std/migrations.ts';
import { migratePostgresStore } from '../../store/postgres/open.ts';
import { migrateSqliteStore } from '../../store/sqlite/open.ts';
import { type Session, sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { addSettings } from '../options.ts';
import type { Printer } from '../output.ts';

interface MigrateFlags {
  readonly dryRun?: true;
  readonly sql?: true;
}

export function migrateCommand(context: CliContext): Command {
  const command = new Command('migrate')
    .description(
      'Bring the schema of the configured store up to date, as every start of a server does. Servers of the version before go on beside it, unless a migration is breaking: then they have to be stopped.',
    )
    .option('--dry-run', 'Say which migrations are pending. Changes nothing.')
    .option('--sql', 'Show their statements, too.')
    .option('--json', 'Write JSON.');
  addSettings(command, ['dataDir', 'storeUrl']);
  return command.action((flags: MigrateFlags) =>
    bringUpToDate(flags, sessionOf(command, context, ['dataDir', 'storeUrl', 'timeZone'])),
  );
}

async function bringUpToDate(flags: MigrateFlags, session: Session): Promise<void> {
  const { context, config, print, asJson } = session;
  const isDry = flags.dryRun === true;
  const migrations = await pendingOf(config.values, context, !isDry);
  const store = storeName(config.values);
  if (asJson) {
    const rows = migrations.map(({ number, name, breaking, text }) => ({
      ...{ number, name, breaking },
      ...(flags.sql === true ? { sql: text } : {}),
    }));
    return print.json({ store, dry_run: isDry, migrations: rows });
  }
  if (migrations.length === 0) return print.line(`${store} is up to date`);
  for (const migration of migrations) tell(migration, isDry, print);
  if (flags.sql === true)
    for (const { name, text } of migrations) print.line(`\n-- ${name}\n${text}`);
}

function tell({ name, breaking }: Migration, isDry: boolean, print: Printer): void {
  const warning = breaking ? ' (breaking: older versions refuse the store after it)' : '';
  print.line(`${isDry ? 'pending' : 'applied'}  ${name}${warning}`);
}

async function pendingOf(
  { storeUrl, dataDir }: Config,
  { clock }: CliContext,
  apply: boolean,
): Promise<readonly Migration[]> {
  return storeUrl === null
    ? migrateSqliteStore(dataDir, clock, apply)
    : migratePostgresStore(storeUrl, apply);
}
