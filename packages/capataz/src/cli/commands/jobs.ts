import { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { jobsHistoryCommand } from './jobs-history.ts';
import { jobsListCommand } from './jobs-list.ts';
import { jobsShowCommand } from './jobs-show.ts';
import { jobsSignalCommand } from './jobs-signal.ts';
import { jobsStartCommand } from './jobs-start.ts';
import { steeringCommands } from './jobs-steer.ts';
import { jobsWatchCommand } from './jobs-watch.ts';

export function jobsCommand(context: CliContext): Command {
  const command = new Command('jobs').description('Start, look at and steer jobs.');
  const children = [
    jobsStartCommand(context),
    jobsListCommand(context),
    jobsShowCommand(context),
    jobsWatchCommand(context),
    jobsHistoryCommand(context),
    jobsSignalCommand(context),
    ...steeringCommands(context),
  ];
  for (const child of children) command.addCommand(child);
  return command;
}
