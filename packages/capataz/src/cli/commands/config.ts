import { Command } from 'commander';
import { settingNames } from '../../config/settings.ts';
import { showConfig, showSettings } from '../../config/show.ts';
import { sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { addApplicationSettings, addSettings, applicationSettings } from '../options.ts';

export function configCommand(context: CliContext): Command {
  const command = new Command('config')
    .description('Show every effective setting and where it comes from. Secrets are masked.')
    .option('--json', 'Write JSON.');
  addApplicationSettings(addSettings(command, settingNames), context);
  return command.action(() => {
    const { config, print, asJson } = sessionOf(command, context, settingNames);
    const own = applicationSettings(command, context);
    const { settings } = context.application.settings;
    const shown = [...showConfig(config), ...showSettings(settings, own)];
    if (asJson) {
      const files = own.file === null ? {} : { application_file: own.file };
      return print.json({ file: config.file, ...files, settings: shown, unused: config.unused });
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
