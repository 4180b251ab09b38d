import { Command } from 'commander';
import { CapatazError } from '../../protocol/errors.ts';
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
        worker.circuit.replace('_', '-'),
        worker.slots === null ? String(worker.load) : `${worker.load}/${worker.slots}`,
        worker.skills.join(','),
        print.time(worker.last_seen_at),
      ]);
      print.table(['ID', 'STATUS', 'CIRCUIT', 'LOAD', 'SKILLS', `LAST SEEN (${print.zone})`], rows);
    }),
  );
}

function drainCommand(context: CliContext): Command {
  const command = clientCommand(
    'drain <worker>',
    'Give a worker no further tasks; what it holds goes on.',
  ).option('--undo', 'let it take tasks again');
  return command.action((id: string, { undo }: { readonly undo?: boolean }) =>
    withSession(command, context, async ({ client: { workers }, print, asJson }) => {
      const done = undo ? workers.cancelDrain(id) : workers.drain(id);
      const answer = await done.catch((error) => throwNamed(error, id));
      if (asJson) print.json(answer);
      else print.line(`worker ${id} ${undo ? 'takes tasks again' : 'draining'}`);
    }),
  );
}

/** The wire's sentence has no id: it is the one that RXON's workers know. */
function throwNamed(error: unknown, id: string): never {
  const isUnknown = error instanceof CapatazError && error.code === 'WORKER_NOT_FOUND';
  throw isUnknown ? new CapatazError(error.code, `there is no worker "${id}"`) : error;
}
