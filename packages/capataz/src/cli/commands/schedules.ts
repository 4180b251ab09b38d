import { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { schedulesCheckCommand } from './schedules-check.ts';
import { schedulesListCommand } from './schedules-list.ts';
import { schedulesPauseCommand, schedulesResumeCommand } from './schedules-pause.ts';
import { schedulesPreviewCommand } from './schedules-preview.ts';
import { schedulesShowCommand } from './schedules-show.ts';

export function schedulesCommand(context: CliContext): Command {
  return new Command('schedules')
    .description(
      'See schedules, pause and resume them; check schedules.toml and see when it comes round.',
    )
    .addCommand(schedulesListCommand(context))
    .addCommand(schedulesShowCommand(context))
    .addCommand(schedulesPauseCommand(context))
    .addCommand(schedulesResumeCommand(context))
    .addCommand(schedulesPreviewCommand(context))
    .addCommand(schedulesCheckCommand(context));
}
