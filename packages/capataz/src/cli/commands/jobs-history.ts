import type { Command } from 'commander';
import type { HistoryView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';

export function jobsHistoryCommand(context: CliContext): Command {
  const command = clientCommand('history <job>', "Show a job's book, from its first entry on.");
  return command.action((id: string) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const entries: HistoryView[] = [];
      for await (const entry of client.jobs.history(id)) {
        if (asJson) entries.push(entry);
        else print.entry(entry);
      }
      if (asJson) print.json({ history: entries });
    }),
  );
}
