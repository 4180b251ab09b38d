import { Command } from 'commander';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';

export function workersCommand(context: CliContext): Command {
  return new Command('workers')
    .description('Look at and steer workers.')
    .addCommand(listCommand(context))
    .addCommand(drainCommand(context));
}

function listCommand(context: CliContext): Command {
  const command = clientCommand('list', 'List the workers that are there.');
  return command.action(() =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const workers = await client.workers.list();
      if (asJson) return print.json({ workers });
      const rows = workers.map((worker) => [
        worker.id,
        worker.status,
        worker.slots === null ? String(worker.load) : `${worker.load}/${worker.slots}`,
        worker.skills.join(','),
        print.time(worker.last_seen_at),
      ]);
      print.table(['ID', 'STATUS', 'LOAD', 'SKILLS', `LAST SEEN (${print.zone})`], rows);
    }),
  );
}

function drainCommand(context: CliContext): Command {
  const command = clientCommand(
    'drain <worker>',
    'Give a worker no further tasks; what it holds goes on.',
  );
  return command.action((id: string) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const answer = await client.workers.drain(id);
      if (asJson) print.json(answer);
      else print.line(`worker ${id} ${answer.status}`);
    }),
  );
}
