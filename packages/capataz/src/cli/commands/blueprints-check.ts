import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { loadBlueprintModule, moduleNames } from '../../config/blueprint-modules.ts';
import { CapatazError } from '../../protocol/errors.ts';
import type { CliContext } from '../context.ts';
import { exitCodes, UsageError } from '../exit.ts';
import { Printer } from '../output.ts';

interface Checked {
  readonly file: string;
  readonly blueprints: readonly { readonly name: string; readonly version: number }[];
  readonly error: string | null;
}

export function blueprintsCheckCommand(context: CliContext): Command {
  const command = new Command('check')
    .description(
      'Load modules, or every module of a folder, and check their blueprints as a start would. Ends with 1 if one is bad.',
    )
    .argument('<files...>')
    .option('--json', 'Write JSON.');
  return command.action(async (files: string[], { json }: { readonly json?: boolean }) => {
    const print = new Printer(context.stdout, 'UTC');
    const checked: Checked[] = [];
    const modules = files.flatMap((file) => modulesOf(file, context));
    for (const file of modules) checked.push(await check(file, context));
    if (json) print.json({ files: checked });
    else for (const one of checked) tell(one, print);
    if (checked.some(({ error }) => error !== null)) context.exitCode = exitCodes.failed;
  });
}

/** @throws UsageError for a folder without a module */
function modulesOf(path: string, { directory }: CliContext): string[] {
  const absolute = resolve(directory, path);
  if (!statSync(absolute, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const names = moduleNames(absolute);
  if (names.length === 0) throw new UsageError(`there is no module in the folder ${path}`);
  return names.map((name) => join(path, name));
}

async function check(file: string, { directory }: CliContext): Promise<Checked> {
  try {
    const blueprints = await loadBlueprintModule(resolve(directory, file));
    return {
      file,
      blueprints: blueprints.map(({ name, version }) => ({ name, version })),
      error: null,
    };
  } catch (error) {
    if (!(error instanceof CapatazError)) throw error;
    return { file, blueprints: [], error: error.message };
  }
}

function tell({ file, blueprints, error }: Checked, print: Printer): void {
  if (error !== null) return print.line(`${print.style('red', 'bad')}  ${error}`);
  const names = blueprints.map(({ name, version }) => `${name} version ${version}`).join(', ');
  print.line(`${print.style('green', 'ok')}   ${file}: ${names}`);
}
