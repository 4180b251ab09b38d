import { Command } from 'commander';
import { storeName } from '../../config/store-place.ts';
import { sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { checkStore, type Finding, repairStore } from '../limbo-check.ts';
import { addSettings } from '../options.ts';
import type { Printer } from '../output.ts';

export function doctorCommand(context: CliContext): Command {
  const command = new Command('doctor')
    .description(
      'Check, past the server, that every open job of the store has something that makes it move on. Ends with 1 if one has not. Changes nothing without --repair.',
    )
    .option(
      '--repair',
      'Quarantine those that have not, so that they can be redriven or dismissed. No server may run on the data folder meanwhile.',
    )
    .option('--json', 'Write JSON.');
  addSettings(command, ['dataDir', 'storeUrl']);
  return command.action((flags: { repair?: true }) => examine(command, context, flags));
}

async function examine(
  command: Command,
  context: CliContext,
  { repair = false }: { readonly repair?: boolean },
): Promise<void> {
  const { config, print, asJson } = sessionOf(command, context, [
    'dataDir',
    'storeUrl',
    'timeZone',
  ]);
  const { dataDir, storeUrl } = config.values;
  const { name } = context.application;
  const look = repair ? repairStore : checkStore;
  const { checked, findings } = await look(config.values, context);
  if (findings.some(({ repaired }) => !repaired)) context.exitCode = exitCodes.failed;
  const place = storeUrl === null ? { data_dir: dataDir } : { store: storeName(config.values) };
  if (asJson) return print.json({ ...place, checked, findings });
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
