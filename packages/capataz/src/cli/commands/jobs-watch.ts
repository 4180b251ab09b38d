import type { Command } from 'commander';
import { type ClientSession, clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { followJob, tellStored } from '../watch.ts';

/** Servers on a store that is shared move jobs meanwhile. */
function mayMove({ embeddedUrl, config }: ClientSession): boolean {
  return embeddedUrl === null || config.values.storeUrl !== null;
}

export function jobsWatchCommand(context: CliContext): Command {
  const command = clientCommand(
    'watch <job>',
    'Tell what happens to a job until it has ended: one line an entry, with --json one document a line. Ends with 1 unless the job finished.',
  );
  return command.action((id: string) =>
    withSession(command, context, (session) =>
      mayMove(session) ? followJob(session, id) : tellStored(session, id),
    ),
  );
}
