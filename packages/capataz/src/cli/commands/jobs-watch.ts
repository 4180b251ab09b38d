import type { Command } from 'commander';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { followJob, tellStored } from '../watch.ts';

export function jobsWatchCommand(context: CliContext): Command {
  const command = clientCommand(
    'watch <job>',
    'Tell what happens to a job until it has ended: one line an entry, with --json one document a line. Ends with 1 unless the job finished.',
  );
  return command.action((id: string) =>
    withSession(command, context, (session) =>
      session.embeddedUrl === null ? followJob(session, id) : tellStored(session, id),
    ),
  );
}
