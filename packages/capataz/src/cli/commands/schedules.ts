import { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { schedulesCheckCommand } from './schedules-check.ts';
import { schedulesPreviewCommand } from './schedules-preview.ts';

export function schedulesCommand(context: CliContext): Command {
  return new Command('schedules')
    .description('Check schedules.toml and see when its schedules come round.')
    .addCommand(schedulesPreviewCommand(context))
    .addCommand(schedulesCheckCommand(context));
}
