import { Command } from 'commander';
import { settingNames } from '../../config/settings.ts';
import { showConfig } from '../../config/show.ts';
import { sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { addSettings } from '../options.ts';

export function configCommand(context: CliContext): Command {
  const command = new Command('config')
    .description('Show every effective setting and where it comes from. Secrets are masked.')
    .option('--json', 'Write JSON.');
  addSettings(command, settingNames);
  return command.action(() => {
    const { config, print, asJson } = sessionOf(command, context, settingNames);
    const shown = showConfig(config);
    if (asJson) {
      return print.json({ file: config.file, settings: shown, unused: config.unused });
    }
    const rows = shown.map(({ key, value, source }) => [
      key,
      value === null ? '' : String(value),
      source,
    ]);
    print.table(['SETTING', 'VALUE', 'SOURCE'], rows);
    for (const name of config.unused) print.line(`environment ${name} is no setting and not used`);
  });
}
