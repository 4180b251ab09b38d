import type { Command } from 'commander';
import type { JobView, WhyView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { type Printer, plainText, statusStyle } from '../output.ts';
import { childLine } from './why.ts';

export function jobsShowCommand(context: CliContext): Command {
  const command = clientCommand('show <job>', 'Show one job with its input, data and result.');
  return command.action((id: string) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const job = await client.jobs.get(id);
      if (asJson) return print.json(job);
      showJob(job, job.ended_at === null ? await client.jobs.why(id) : null, print);
    }),
  );
}

function showJob(job: JobView, why: WhyView | null, print: Printer): void {
  const { status, held, error } = job;
  const instant = (iso: string): string => `${print.time(iso)} ${print.zone}`;
  print.fields([
    ['job', job.id],
    ['blueprint', `${job.blueprint} version ${job.blueprint_version}`],
    ['status', print.style(statusStyle(status), held ? `${status} (held)` : status)],
    ['state', job.state],
    ...(why === null ? [] : presentFields(why, instant)),
    ['progress', progressOf(job)],
    ['priority', job.priority === 0 ? null : String(job.priority)],
    ['created', instant(job.created_at)],
    ['entered', instant(job.entered_at)],
    ['ended', job.ended_at === null ? null : instant(job.ended_at)],
    ['error', error === null ? null : plainText(`${error.code} ${error.message}`)],
    ['redrive', job.resume === null ? null : `${job.resume.type} of state ${job.resume.state}`],
    ['parent', job.parent],
    [
      'answer',
      job.answer === null ? null : `${job.answer.name} ${JSON.stringify(job.answer.data)}`,
    ],
    ['concurrency', concurrencyOf(job)],
    ['input', JSON.stringify(job.input)],
    ['data', JSON.stringify(job.data)],
    ['result', job.result === null ? null : JSON.stringify(job.result)],
    [
      'attributes',
      Object.keys(job.attributes).length === 0 ? null : JSON.stringify(job.attributes),
    ],
  ]);
}

/** What a job that has not ended is waiting for, and until when. */
function presentFields(
  { summary, task, child, deadlines }: WhyView,
  instant: (iso: string) => string,
): [string, string | null][] {
  return [
    ['now', summary],
    ['worker', task?.worker ?? null],
    ['child', child === null ? null : plainText(childLine(child))],
    ...deadlines.map(({ name, at }): [string, string] => ['deadline', `${instant(at)} (${name})`]),
  ];
}

function concurrencyOf({ concurrency }: JobView): string | null {
  if (concurrency === null) return null;
  const { key, limit, on_busy } = concurrency;
  return `${key}, at most ${limit}, else ${on_busy}`;
}

function progressOf({ progress }: JobView): string | null {
  if (progress === null) return null;
  const percent = progress.fraction === null ? '' : `${Math.round(progress.fraction * 100)} % `;
  return `${percent}${progress.message ?? ''}`.trim();
}
