import type { Command } from 'commander';
import type { JobView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { type Printer, statusStyle } from '../output.ts';

export function jobsShowCommand(context: CliContext): Command {
  const command = clientCommand('show <job>', 'Show one job with its input, data and result.');
  return command.action((id: string) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const job = await client.jobs.get(id);
      if (asJson) print.json(job);
      else showJob(job, print);
    }),
  );
}

function showJob(job: JobView, print: Printer): void {
  const { status, held, error } = job;
  print.fields([
    ['job', job.id],
    ['blueprint', `${job.blueprint} version ${job.blueprint_version}`],
    ['status', print.style(statusStyle(status), held ? `${status} (held)` : status)],
    ['state', job.state],
    ['progress', progressOf(job)],
    ['priority', job.priority === 0 ? null : String(job.priority)],
    ['created', `${print.time(job.created_at)} ${print.zone}`],
    ['entered', print.time(job.entered_at)],
    ['ended', job.ended_at === null ? null : print.time(job.ended_at)],
    ['error', error === null ? null : `${error.code} ${error.message}`],
    ['input', JSON.stringify(job.input)],
    ['data', JSON.stringify(job.data)],
    ['result', job.result === null ? null : JSON.stringify(job.result)],
    [
      'attributes',
      Object.keys(job.attributes).length === 0 ? null : JSON.stringify(job.attributes),
    ],
  ]);
}

function progressOf({ progress }: JobView): string | null {
  if (progress === null) return null;
  const percent = progress.fraction === null ? '' : `${Math.round(progress.fraction * 100)} % `;
  return `${percent}${progress.message ?? ''}`.trim();
}
