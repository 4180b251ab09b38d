import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { loadBlueprintModule } from '../../config/blueprint-modules.ts';
import type { Blueprint } from '../../core/blueprint.ts';
import { toDot, toMermaid } from '../../core/graph.ts';
import { dotToSvg } from '../../server/graph-svg.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../exit.ts';
import { Printer } from '../output.ts';

type Format = 'dot' | 'svg' | 'mermaid';

interface Flags {
  readonly format: Format;
  readonly name?: string;
  readonly json?: boolean;
}

export function blueprintsGraphCommand(context: CliContext): Command {
  const command = clientCommand(
    'graph <file-or-name>',
    'Draw a blueprint: of a module, or by its name as the server has it.',
  )
    .addOption(
      new Option('--format <format>', 'Language of the picture.')
        .choices(['dot', 'svg', 'mermaid'])
        .default('dot'),
    )
    .option('--name <name>', 'Which one, where the module has several.');
  return command.action(async (what: string, flags: Flags) => {
    const { format } = flags;
    const path = resolve(context.directory, what);
    if (existsSync(path)) {
      const blueprint = choose(await loadBlueprintModule(path), flags.name);
      return show(await draw(blueprint, format), flags, context);
    }
    if (isPath(what)) throw new UsageError(`there is no file ${what}`);
    await withSession(
      command,
      context,
      async ({ client }) => show(await client.blueprints.graph(what, { format }), flags, context),
      { needsBlueprints: true },
    );
  });
}

/** Names may have dots, but none ends like a module. */
function isPath(what: string): boolean {
  return /[\\/]|\.[cm]?[jt]sx?$/.test(what);
}

function show(graph: string, { format, json }: Flags, { stdout }: CliContext): void {
  if (json) new Printer(stdout, 'UTC').json({ format, graph });
  else stdout.write(graph);
}

function choose(blueprints: readonly Blueprint[], name: string | undefined): Blueprint {
  const found =
    name === undefined && blueprints.length === 1
      ? blueprints[0]
      : blueprints.find((blueprint) => blueprint.name === name);
  if (found !== undefined) return found;
  const names = blueprints.map((blueprint) => blueprint.name).join(', ');
  throw new UsageError(`--name must be one of ${names}`);
}

async function draw(blueprint: Blueprint, format: Format): Promise<string> {
  switch (format) {
    case 'dot':
      return toDot(blueprint);
    case 'svg':
      return await dotToSvg(toDot(blueprint));
    case 'mermaid':
      return toMermaid(blueprint);
  }
}
