import type { Command } from 'commander';
import { clientCommand } from '../command.ts';
import type { CliContext } from '../context.ts';
import { onSchedules } from './schedules-list.ts';

export function schedulesPauseCommand(context: CliContext): Command {
  const command = clientCommand(
    'pause <name>',
    'Pause a schedule: no slot of it starts until it is resumed, on any instance.',
  );
  return command.action((name: string) =>
    onSchedules(command, context, async ({ client, print, asJson }) => {
      const schedule = await client.schedules.pause(name);
      if (asJson) print.json(schedule);
      else print.line(`${name} is paused`);
    }),
  );
}

export function schedulesResumeCommand(context: CliContext): Command {
  const command = clientCommand(
    'resume <name>',
    'Resume a schedule; its catch_up decides about the slots that came in the pause.',
  );
  return command.action((name: string) =>
    onSchedules(command, context, async ({ client, print, asJson }) => {
      const schedule = await client.schedules.resume(name);
      if (asJson) return print.json(schedule);
      const { paused, paused_by, next_starts } = schedule;
      if (paused) return print.line(`${name} is still paused: ${paused_by ?? 'its file'} says so`);
      const [next] = next_starts;
      const told =
        next === undefined ? 'it never starts' : `next ${print.time(next)} ${print.zone}`;
      print.line(`${name} is resumed: ${told}`);
    }),
  );
}
