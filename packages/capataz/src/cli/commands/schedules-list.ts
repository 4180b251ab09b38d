import type { Command } from 'commander';
import type { ScheduleView, SlotRecordView } from '../../client/index.ts';
import { type ClientSession, clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { oneLine, type Printer } from '../output.ts';

export function schedulesListCommand(context: CliContext): Command {
  const command = clientCommand(
    'list',
    'List the schedules of a server: next starts, pauses, and what became of the last slots.',
  );
  return command.action(() =>
    onSchedules(command, context, async ({ client, print, asJson }) => {
      const schedules = await client.schedules.list();
      if (asJson) return print.json({ schedules });
      const header = ['SCHEDULE', 'RULE', 'ZONE', `NEXT (${print.zone})`, 'LAST', ''];
      print.table(
        header,
        schedules.map((schedule) => rowOf(schedule, print)),
      );
    }),
  );
}

/** Where no server runs, what is remembered can be seen and changed all the same. */
export function onSchedules(
  command: Command,
  context: CliContext,
  work: (session: ClientSession) => Promise<void>,
): Promise<void> {
  return withSession(command, context, work, { needsSchedules: true });
}

function rowOf(schedule: ScheduleView, print: Printer): string[] {
  const { name, rule, zone, paused, paused_by, next_starts, recent } = schedule;
  const [next] = next_starts;
  const told = next === undefined ? 'never' : print.time(next);
  const [last] = recent;
  return [
    name,
    rule,
    zone,
    paused ? `paused by ${paused_by ?? '?'}` : told,
    ...(last === undefined ? ['', ''] : [print.time(last.slot), lastText(last)]),
  ];
}

function lastText({ outcome, job_id, reason }: SlotRecordView): string {
  if (outcome === 'started') return `started ${job_id ?? ''}`;
  const why = reason === null ? '' : `: ${oneLine(reason)}`;
  return `${outcome}${why}`;
}
