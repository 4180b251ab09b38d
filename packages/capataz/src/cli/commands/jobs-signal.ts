import type { Command } from 'commander';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { jsonOf } from '../flag-values.ts';

interface Flags {
  readonly data?: string;
  readonly id?: string;
}

export function jobsSignalCommand(context: CliContext): Command {
  const command = clientCommand('signal <job> <name>', 'Tell a job that something has happened.')
    .option('--data <json>', 'What comes with it, JSON. Default null.')
    .option(
      '--id <text>',
      "The signal's id: the same one again changes nothing. Default: a new one.",
    );
  return command.action((job: string, name: string, { data, id }: Flags) =>
    withSession(
      command,
      context,
      async ({ client, print, asJson }) => {
        const content = data === undefined ? null : jsonOf('--data', data);
        const options = id === undefined ? {} : { signalId: id };
        const answer = await client.jobs.signal(job, name, content, options);
        if (asJson) print.json(answer);
        else print.line(`signal ${answer.id} ${answer.status}`);
      },
      { needsBlueprints: true },
    ),
  );
}
