import type { Command } from 'commander';
import type { Client, DeadLetterView, HistoryView, JobView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { collected } from '../flag-values.ts';
import { type LogLine, linesOf } from '../log-lines.ts';
import { oneLine, type Printer } from '../output.ts';

/** What happened to a job, as one line of the trace. */
type TracedEntry = HistoryView & { readonly job_id: string };

interface Trace {
  readonly correlation_id: string;
  readonly jobs: readonly JobView[];
  readonly history: readonly TracedEntry[];
  /** Events that no bus would take, resolved ones, too. */
  readonly dead_letters: readonly DeadLetterView[];
  readonly log: readonly LogLine[];
}

export function traceCommand(context: CliContext): Command {
  const command = clientCommand(
    'trace <correlation>',
    'Show all that a correlation id links, by time: jobs with their books, events, and lines of log files.',
  ).option(
    '--log <file>',
    'A log of JSON lines, of a server or a worker, to look through; may be given several times.',
    collected,
  );
  return command.action((correlationId: string, { log = [] }: { log?: readonly string[] }) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const lines = (await Promise.all(log.map((file) => linesOf(file, correlationId)))).flat();
      const trace = { ...(await traceOf(client, correlationId)), log: lines };
      if (asJson) print.json(trace);
      else tell(trace, print);
    }),
  );
}

async function traceOf(client: Client, correlationId: string): Promise<Omit<Trace, 'log'>> {
  const jobs: JobView[] = [];
  const history: TracedEntry[] = [];
  const letters: DeadLetterView[] = [];
  for await (const job of client.jobs.all({ correlationId })) {
    jobs.push(job);
    for await (const entry of client.jobs.history(job.id))
      history.push({ ...entry, job_id: job.id });
    for await (const letter of client.deadLetters.all({ jobId: job.id, resolved: true }))
      letters.push(letter);
  }
  return { correlation_id: correlationId, jobs, history, dead_letters: letters };
}

function tell({ correlation_id, jobs, history, dead_letters, log }: Trace, print: Printer): void {
  for (const job of jobs)
    print.line(`job ${job.id}  ${job.blueprint}  ${job.status} in ${job.state}`);
  const steps = [
    ...history.map((entry) => ({ at: entry.at, tell: () => print.entry(entry, entry.job_id) })),
    ...dead_letters.map((letter) => ({
      at: letter.moved_at,
      tell: () => print.line(letterText(letter, print)),
    })),
    ...log.map((line) => ({ at: line.time, tell: () => print.line(lineText(line, print)) })),
  ];
  if (steps.length === 0) return print.line(`nothing has the correlation id ${correlation_id}`);
  // Entries of one commit have one time, and keep their order.
  for (const step of steps.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))) step.tell();
}

function letterText({ id, moved_at, name, error }: DeadLetterView, print: Printer): string {
  const what = `${oneLine(name)} ${id}: ${oneLine(error)}`;
  return `${print.style('dim', print.time(moved_at))}  ${print.style('red', 'dead_letter')}  ${what}`;
}

/** Known, or too long for a line, as stacks are. */
const leftOut: ReadonlySet<string> = new Set(['correlation', 'details', 'error']);

function lineText({ time, level, message, ...fields }: LogLine, print: Printer): string {
  const about = Object.entries(fields).filter(([name]) => !leftOut.has(name));
  const pairs = about.map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const text = oneLine([message, ...pairs].join(' '));
  return `${print.style('dim', print.time(time))}  log ${oneLine(level).padEnd(5)}  ${text}`;
}
