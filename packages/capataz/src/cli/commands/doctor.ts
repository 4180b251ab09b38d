import { Command } from 'commander';
import { sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { checkFolder } from '../limbo-check.ts';
import { addSettings } from '../options.ts';

export function doctorCommand(context: CliContext): Command {
  const command = new Command('doctor')
    .description(
      'Check, on the machine of the data folder, that every open job has something that makes it move on. Ends with 1 if one has not. Changes nothing.',
    )
    .option('--json', 'Write JSON.');
  addSettings(command, ['dataDir']);
  return command.action(() => examine(command, context));
}

async function examine(command: Command, context: CliContext): Promise<void> {
  const { config, print, asJson } = sessionOf(command, context, ['dataDir', 'timeZone']);
  const { dataDir } = config.values;
  const { checked, findings } = await checkFolder(dataDir, context);
  if (findings.length > 0) context.exitCode = exitCodes.failed;
  if (asJson) return print.json({ data_dir: dataDir, checked, findings });
  for (const { job, blueprint, state, status, reason } of findings) {
    const label = print.style('red', 'limbo');
    print.line(`${label}  job ${job} (${blueprint}, state ${state}, ${status}): ${reason}`);
  }
  const verdict = findings.length === 0 ? 'none is in limbo' : `${findings.length} in limbo`;
  print.line(`${checked} open jobs checked: ${verdict}`);
}
