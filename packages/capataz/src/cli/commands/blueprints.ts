import { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { blueprintsCheckCommand } from './blueprints-check.ts';
import { blueprintsGraphCommand } from './blueprints-graph.ts';

export function blueprintsCommand(context: CliContext): Command {
  return new Command('blueprints')
    .description('Check and draw blueprints.')
    .addCommand(blueprintsCheckCommand(context))
    .addCommand(blueprintsGraphCommand(context));
}
