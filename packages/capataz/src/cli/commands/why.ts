import type { Command } from 'commander';
import type { WhyView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import type { Printer } from '../output.ts';

export function whyCommand(context: CliContext): Command {
  const command = clientCommand(
    'why <job>',
    'Say why a job is where it is, what it waits for, and why no worker takes its task.',
  );
  return command.action((id: string) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const why = await client.jobs.why(id);
      if (asJson) print.json(why);
      else tell(why, print, context.application.name);
    }),
  );
}

function tell({ summary, deadlines, task }: WhyView, print: Printer, name: string): void {
  print.line(summary);
  for (const { name, at } of deadlines)
    print.line(`deadline ${name}: ${print.time(at)} ${print.zone}`);
  if (task === null) return;
  const holder = task.worker === null ? '' : `, held by ${task.worker}`;
  print.line(`task ${task.id} (${task.skill}) is ${task.status}${holder}`);
  if (task.status === 'PENDING') print.line(workersSummary(task, name));
  for (const { id, verdict } of task.workers) print.line(`  worker ${id}: ${verdict}`);
}

/** What the workers' verdicts come to. */
function workersSummary({ skill, workers }: NonNullable<WhyView['task']>, name: string): string {
  if (workers.length === 0) {
    return `no worker is connected: start one with \`${name} worker <module>\``;
  }
  if (workers.some(({ verdict }) => verdict.startsWith('fits'))) return 'connected workers:';
  const lacksSkill = `has no skill "${skill}"`;
  return workers.every(({ verdict }) => verdict === lacksSkill)
    ? `no connected worker has skill "${skill}"`
    : 'no connected worker has all that the task asks for:';
}
