import { Command } from 'commander';
import { readSchedules } from '../../config/schedules-file.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { planOf } from '../../schedule/schedule.ts';
import { sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { exitCodes, UsageError } from '../exit.ts';
import { addSettings } from '../options.ts';

/** What looks at schedules needs; a server is none of it. */
export const scheduleSettings = ['schedules', 'timeZone'] as const;

export function schedulesCheckCommand(context: CliContext): Command {
  const command = new Command('check')
    .description(
      'Check the file of the schedules as a start would, and tell the next slot of each. Ends with 1 if something is wrong.',
    )
    .option('--json', 'Write JSON.');
  addSettings(command, scheduleSettings);
  return command.action(() => {
    const { config, print, asJson } = sessionOf(command, context, scheduleSettings);
    const { schedules: file, timeZone } = config.values;
    if (file === null)
      throw new UsageError('there is no schedules.toml; name one with --schedules');
    const found = checked(file, timeZone, context.clock.now());
    if (found.problems.length > 0) context.exitCode = exitCodes.failed;
    if (asJson) return print.json({ file, ...found });
    for (const problem of found.problems) print.line(`${print.style('red', 'bad')}  ${problem}`);
    for (const { name, next, paused } of found.schedules) {
      const told = next === null ? 'never' : `${print.time(next)} ${print.zone}`;
      print.line(`${print.style('green', 'ok')}   ${name}: ${paused ? 'paused' : `next ${told}`}`);
    }
  });
}

interface Checked {
  readonly problems: readonly string[];
  readonly schedules: readonly {
    readonly name: string;
    readonly next: string | null;
    readonly paused: boolean;
  }[];
}

function checked(file: string, zone: string, now: number): Checked {
  try {
    const { schedules, blackouts } = readSchedules(file, { zone, now });
    return {
      problems: [],
      schedules: schedules.map((schedule) => {
        const next = planOf(schedule, blackouts).nextStart(now);
        return {
          name: schedule.name,
          next: next === null ? null : new Date(next).toISOString(),
          paused: schedule.isPaused,
        };
      }),
    };
  } catch (error) {
    if (!(error instanceof CapatazError)) throw error;
    return { problems: error.message.split('\n'), schedules: [] };
  }
}
