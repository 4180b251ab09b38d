import { Command } from 'commander';
import type { JobView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { oneLine, type Printer } from '../output.ts';
import { pageOf } from './jobs-list.ts';
import { showJob } from './jobs-show.ts';
import { dismissCommand, redriveCommand } from './jobs-steer.ts';

interface Flags {
  readonly blueprint?: string;
  readonly limit: string;
  readonly before?: string;
}

/** The dead letters: jobs that were given up and stay until a person decides. */
export function dlqCommand(context: CliContext): Command {
  return new Command('dlq')
    .description('Look at quarantined jobs, let them try again, or give them up.')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(redriveCommand(context))
    .addCommand(dismissCommand(context));
}

function listCommand(context: CliContext): Command {
  const command = clientCommand('list', 'List quarantined jobs, newest first.')
    .option('--blueprint <name>', 'Only jobs of this blueprint.')
    .option('--limit <number>', 'At most so many, 1 to 1000.', '20')
    .option('--before <id>', 'Only jobs behind this one: the last of the page before.');
  return command.action(({ blueprint, ...page }: Flags) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const filter = { ...pageOf(page), ...(blueprint === undefined ? {} : { blueprint }) };
      const answer = await client.jobs.list({ ...filter, status: ['quarantined'] });
      if (asJson) return print.json(answer);
      const header = ['ID', 'BLUEPRINT', 'STATE', `CREATED (${print.zone})`, 'ERROR'];
      print.table(
        header,
        answer.jobs.map((job) => rowOf(job, print)),
      );
      if (answer.next !== null) print.line(`more: --before ${answer.next}`);
    }),
  );
}

function rowOf({ id, blueprint, state, created_at, error }: JobView, print: Printer): string[] {
  const reason = error === null ? '' : oneLine(`${error.code} ${error.message}`);
  return [id, blueprint, state, print.time(created_at), reason];
}

function showCommand(context: CliContext): Command {
  const command = clientCommand(
    'show <job>',
    'Show a quarantined job: what parked it, where it would go on, and its book.',
  );
  return command.action((id: string) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const job = await client.jobs.get(id);
      const history = [];
      for await (const entry of client.jobs.history(id)) history.push(entry);
      if (asJson) return print.json({ job, history });
      showJob(job, null, print);
      print.line();
      for (const entry of history) print.entry(entry);
    }),
  );
}
