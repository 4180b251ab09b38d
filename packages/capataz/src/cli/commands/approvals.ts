import { Command } from 'commander';
import type { ApprovalView, Client, DecideOptions, JobView } from '../../client/index.ts';
import { storeName } from '../../config/store-place.ts';
import { nothingToDecide } from '../../protocol/nothing-to-decide.ts';
import { type ClientSession, clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { durationOf, jsonOf } from '../flag-values.ts';
import { oneLine, type Printer, plainText } from '../output.ts';
import { pageOf } from './jobs-list.ts';

export function approvalsCommand(context: CliContext): Command {
  return new Command('approvals')
    .description('Look at what waits for a person, and decide it.')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(fixedCommand('approve', 'approved', context))
    .addCommand(fixedCommand('reject', 'rejected', context))
    .addCommand(decideCommand(context))
    .addCommand(linkCommand(context));
}

function listCommand(context: CliContext): Command {
  const command = clientCommand('list', 'List what waits for a person, newest job first.')
    .option('--limit <number>', 'At most so many, 1 to 1000.', '20')
    .option('--before <id>', 'Only jobs behind this one: the last of the page before.');
  return command.action((page: { limit: string; before?: string }) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const answer = await client.approvals.list(pageOf(page));
      if (asJson) return print.json(answer);
      const rows = answer.approvals.map((approval) => [
        approval.job_id,
        approval.blueprint,
        approval.escalated
          ? `${print.time(approval.since)} (escalated)`
          : print.time(approval.since),
        approval.decisions.join(','),
        oneLine(approval.message),
      ]);
      const header = ['JOB', 'BLUEPRINT', `SINCE (${print.zone})`, 'DECISIONS', 'MESSAGE'];
      print.table(header, rows);
      if (answer.next !== null) print.line(`more: --before ${answer.next}`);
    }),
  );
}

function showCommand(context: CliContext): Command {
  const command = clientCommand('show <job>', 'Show what a job asks a person, with its content.');
  return command.action((id: string) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const approval = await askedBy(client, id);
      if (asJson) print.json(approval);
      else showApproval(approval, print);
    }),
  );
}

function showApproval(approval: ApprovalView, print: Printer): void {
  const { show, escalated } = approval;
  print.fields([
    ['job', approval.job_id],
    ['blueprint', approval.blueprint],
    ['state', approval.state],
    ['since', `${print.time(approval.since)} ${print.zone}${escalated ? ' (escalated)' : ''}`],
    ['wait', approval.wait],
    ['hash', approval.hash],
    ['revision', approval.revision === null ? null : oneLine(approval.revision)],
    ['decisions', approval.decisions.join(', ')],
    ['message', plainText(approval.message)],
  ]);
  if (show === null) return;
  print.line();
  print.line(plainText(typeof show === 'string' ? show : JSON.stringify(show, null, 2)));
}

interface Flags {
  readonly comment?: string;
  readonly as?: string;
  readonly data?: string;
}

function fixedCommand(name: string, decision: string, context: CliContext): Command {
  const description = `Give the decision \`${decision}\` on what a job asks now.`;
  const command = deciding(clientCommand(`${name} <job>`, description));
  return command.action((id: string, flags: Flags) =>
    decideNow(command, context, { id, decision, flags }),
  );
}

function decideCommand(context: CliContext): Command {
  const command = deciding(
    clientCommand('decide <job> <decision>', 'Give any decision on what a job asks now.'),
  );
  return command.action((id: string, decision: string, flags: Flags) =>
    decideNow(command, context, { id, decision, flags }),
  );
}

function deciding(command: Command): Command {
  return command
    .option('--comment <text>', 'Stands in the book, and is for the handlers.')
    .option('--as <name>', "Who has decided. Default: the client's name.")
    .option('--data <json>', 'For the handlers, JSON.');
}

interface Given {
  readonly id: string;
  readonly decision: string;
  readonly flags: Flags;
}

/** The decision is on what is open now: should that change meanwhile, it is refused. */
function decideNow(command: Command, context: CliContext, given: Given): Promise<void> {
  const { id, decision, flags } = given;
  return withSession(
    command,
    context,
    async ({ client, print, asJson }) => {
      const { wait, hash } = await askedBy(client, id);
      const options = { wait, hash, ...decideOptions(flags) };
      const answer = await client.approvals.decide(id, decision, options);
      if (asJson) return print.json(answer);
      const { job, repeated } = answer;
      const word = repeated ? 'had been decided before' : 'is decided';
      print.line(`${decision}: it ${word}; job ${id} is ${job.status} in ${job.state}`);
    },
    { needsBlueprints: true },
  );
}

function decideOptions({ comment, as, data }: Flags): DecideOptions {
  return {
    ...(comment === undefined ? {} : { comment }),
    ...(as === undefined ? {} : { approver: as }),
    ...(data === undefined ? {} : { data: jsonOf('--data', data) }),
  };
}

/** @throws CapatazError DECISION_REFUSED where nothing is asked */
async function askedBy(client: Client, id: string): Promise<ApprovalView> {
  const job = await client.jobs.get(id);
  if (job.wait?.type === 'approval') return approvalOf(job, job.wait);
  throw nothingToDecide(job);
}

type ApprovalWait = Extract<JobView['wait'], { type: 'approval' }>;

function approvalOf(job: JobView, wait: ApprovalWait): ApprovalView {
  const { id, message, show, hash, revision, decisions, escalated } = wait;
  return {
    job_id: job.id,
    blueprint: job.blueprint,
    state: job.state,
    wait: id,
    message,
    show,
    hash,
    revision,
    decisions,
    since: job.entered_at,
    escalated,
  };
}

function linkCommand(context: CliContext): Command {
  const command = clientCommand(
    'link <job>',
    'Print a link to a page where whoever has it decides what the job asks now.',
  ).option('--expires-in <duration>', 'How long it is good, like 12h. Default 7 days.');
  return command.action((id: string, { expiresIn }: { expiresIn?: string }) =>
    withSession(command, context, (session) => printLink(session, id, expiresIn)),
  );
}

async function printLink(session: ClientSession, id: string, expiresIn?: string): Promise<void> {
  const { client, print, asJson, embeddedUrl, context, config } = session;
  const options =
    expiresIn === undefined ? {} : { expiresIn: durationOf('--expires-in', expiresIn) };
  const link = await client.approvals.link(id, options);
  // This command's own server is gone when somebody follows the link.
  const isLocal = embeddedUrl !== null && link.url.startsWith(`${embeddedUrl}/`);
  const url = isLocal ? link.url.slice(embeddedUrl.length) : link.url;
  if (asJson) print.json({ ...link, url });
  else print.line(url);
  if (!isLocal) return;
  context.stderr.write(
    `put the address of the server on ${storeName(config.values)} before it, once one runs; or set public_url\n`,
  );
}
