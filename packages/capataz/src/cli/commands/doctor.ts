import { Command } from 'commander';
import { sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { checkFolder, type Finding, repairFolder } from '../limbo-check.ts';
import { addSettings } from '../options.ts';
import type { Printer } from '../output.ts';

export function doctorCommand(context: CliContext): Command {
  const command = new Command('doctor')
    .description(
      'Check, on the machine of the data folder, that every open job has something that makes it move on. Ends with 1 if one has not. Changes nothing without --repair.',
    )
    .option(
      '--repair',
      'Quarantine those that have not, so that they can be redriven or dismissed. No server may run on the data folder meanwhile.',
    )
    .option('--json', 'Write JSON.');
  addSettings(command, ['dataDir']);
  return command.action((flags: { repair?: true }) => examine(command, context, flags));
}

async function examine(
  command: Command,
  context: CliContext,
  { repair = false }: { readonly repair?: boolean },
): Promise<void> {
  const { config, print, asJson } = sessionOf(command, context, ['dataDir', 'timeZone']);
  const { dataDir } = config.values;
  const { name } = context.application;
  const look = repair ? repairFolder : checkFolder;
  const { checked, findings } = await look(dataDir, context);
  if (findings.some(({ repaired }) => !repaired)) context.exitCode = exitCodes.failed;
  if (asJson) return print.json({ data_dir: dataDir, checked, findings });
  for (const finding of findings) tell(finding, print);
  const verdict = findings.length === 0 ? 'none is in limbo' : `${findings.length} in limbo`;
  print.line(`${checked} open jobs checked: ${verdict}`);
  if (findings.length === 0) return;
  print.line(
    repair
      ? `\`${name} jobs list --status quarantined\` shows them; \`jobs redrive\` lets them try again, \`jobs dismiss\` gives them up`
      : `\`${name} doctor --repair\` quarantines them, once no server runs on the data folder`,
  );
}

function tell({ job, blueprint, state, status, reason, repaired }: Finding, print: Printer): void {
  const label = repaired ? print.style('yellow', 'quarantined') : print.style('red', 'limbo');
  print.line(`${label}  job ${job} (${blueprint}, state ${state}, ${status}): ${reason}`);
}
