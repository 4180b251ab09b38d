import type { Command } from 'commander';
import type { ScheduleView, SlotRecordView } from '../../client/index.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { clientCommand } from '../command.ts';
import type { CliContext } from '../context.ts';
import { oneLine, type Printer } from '../output.ts';
import { onSchedules } from './schedules-list.ts';

export function schedulesShowCommand(context: CliContext): Command {
  const command = clientCommand(
    'show <name>',
    'Show a schedule, and what became of its latest slots.',
  );
  return command.action((name: string) =>
    onSchedules(command, context, async ({ client, print, asJson }) => {
      const schedule = (await client.schedules.list()).find((one) => one.name === name);
      if (schedule === undefined)
        throw new CapatazError('SCHEDULE_NOT_FOUND', `there is no schedule "${name}"`);
      if (asJson) print.json(schedule);
      else show(schedule, print);
    }),
  );
}

function show(schedule: ScheduleView, print: Printer): void {
  const { paused, paused_at, paused_by, blackouts, in_blackout, next_starts, recent } = schedule;
  const since = paused_at === null ? '' : ` since ${print.time(paused_at)} ${print.zone}`;
  print.fields([
    ['schedule', schedule.name],
    ['blueprint', schedule.blueprint],
    ['rule', `${schedule.rule}, ${schedule.zone}`],
    ['jitter', schedule.jitter],
    ['overlap', schedule.overlap],
    ['catch up', schedule.catch_up],
    ['blackouts', blackouts.length === 0 ? null : `${blackouts.join(', ')}: ${in_blackout}`],
    ['paused', paused ? `by ${paused_by ?? '?'}${since}` : null],
    ['next', next_starts.map((at) => print.time(at)).join(', ') || 'never'],
  ]);
  if (recent.length === 0) return;
  print.line();
  const header = [`SLOT (${print.zone})`, 'TO', 'BECAME', 'JOB OR REASON'];
  print.table(
    header,
    recent.map((record) => rowOf(record, print)),
  );
}

function rowOf({ first_slot, slot, ...record }: SlotRecordView, print: Printer): string[] {
  const to = slot === first_slot ? '' : print.time(slot);
  const { outcome, job_id, reason } = record;
  return [print.time(first_slot), to, outcome, job_id ?? oneLine(reason ?? '')];
}
