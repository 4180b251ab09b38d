import type { Command } from 'commander';
import type { WhyView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { type Printer, plainText } from '../output.ts';

type Groups = WhyView['tasks'];
type Verdicts = Groups[number]['workers'];

/** What each deadline says about its instant. */
const deadlineWords: Readonly<Record<string, string>> = {
  wake: 'goes on at',
  ready: 'task goes to the queue at',
  dispatch: 'task must have a worker by',
  result: 'task must have ended, with all its attempts, by',
  execution: 'attempt must have ended by',
  deadline: 'in all until',
  silence: 'counts as silent at',
  poll: 'polls next at',
  escalate: 'escalates at',
  inbox: 'looks at its inbox at',
};

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

function tell(why: WhyView, print: Printer, name: string): void {
  print.line(plainText(why.summary));
  tellWayOut(why.job_id, why.status, print, name);
  for (const { name, at } of why.deadlines)
    print.line(`${deadlineWords[name] ?? `deadline ${name}`} ${print.time(at)} ${print.zone}`);
  tellTask(why.task, print, name);
  tellTasks(why.tasks, print, name);
  const { child } = why;
  if (child !== null) print.line(plainText(childLine(child)));
}

function tellTask(task: WhyView['task'], print: Printer, name: string): void {
  if (task === null) return;
  const holder = task.worker === null ? '' : `, held by ${task.worker}`;
  print.line(`task ${task.id} (${task.skill}) is ${task.status}${holder}`);
  if (task.status === 'PENDING') tellWorkers(task.skill, task.workers, print, name);
}

function tellTasks(groups: Groups, print: Printer, name: string): void {
  for (const { skill, pending, running, holders, workers } of groups) {
    const parts = [
      ...(pending > 0 ? [`${pending} without a worker`] : []),
      ...(running > 0 ? [`${running} held by ${holders.join(', ')}`] : []),
    ];
    print.line(`tasks "${skill}": ${parts.join(', ')}`);
    if (pending > 0) tellWorkers(skill, workers, print, name);
  }
}

/** What the workers' verdicts come to, and each of them. */
function tellWorkers(skill: string, workers: Verdicts, print: Printer, name: string): void {
  print.line(workersSummary(skill, workers, name));
  for (const { id, verdict } of workers) print.line(`  worker ${id}: ${verdict}`);
}

function workersSummary(skill: string, workers: Verdicts, name: string): string {
  if (workers.length === 0) {
    return `no worker is connected: start one with \`${name} worker <module>\``;
  }
  if (workers.some(({ verdict }) => verdict.startsWith('fits'))) return 'connected workers:';
  const lacksSkill = `has no skill "${skill}"`;
  return workers.every(({ verdict }) => verdict === lacksSkill)
    ? `no connected worker has skill "${skill}"`
    : 'no connected worker has all that the task asks for:';
}

/** A parked job moves only by one of these two. */
function tellWayOut(id: string, status: string, print: Printer, name: string): void {
  if (status !== 'quarantined') return;
  print.line(`\`${name} jobs redrive ${id}\` lets it try again`);
  print.line(`\`${name} jobs dismiss ${id}\` gives it up`);
}

export function childLine({ id, status, state, summary }: NonNullable<WhyView['child']>): string {
  return `child ${id} is ${status} in ${state}: ${summary}`;
}
