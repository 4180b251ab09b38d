import { Command } from 'commander';
import type { Client, DeadLettersFilter, DeadLetterView } from '../../client/index.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../exit.ts';
import { oneLine, type Printer, plainText } from '../output.ts';
import { limitOf } from './jobs-list.ts';

interface ListFlags {
  readonly name?: string;
  readonly job?: string;
  readonly resolved?: boolean;
  readonly limit: string;
  readonly after?: string;
}

interface ChoiceFlags {
  readonly all?: true;
  readonly name?: string;
}

/** Letters that one request takes. */
const mostAtOnce = 1_000;

/** Dead letters: events that no bus would take. Jobs that were given up are quarantined jobs. */
export function dlqCommand(context: CliContext): Command {
  const { name } = context.application;
  return new Command('dlq')
    .description('Look at events that no bus would take, send them again, or be done with them.')
    .addHelpText(
      'after',
      `\nJobs that were given up: ${name} jobs list --status quarantined, ${name} jobs redrive <job>`,
    )
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(redriveCommand(context))
    .addCommand(resolveCommand(context));
}

function listCommand(context: CliContext): Command {
  const command = clientCommand('list', 'List dead letters, oldest first.')
    .option('--name <name>', 'Only events of this name.')
    .option('--job <id>', 'Only events of this job.')
    .option('--resolved', 'Those that are done with, too.')
    .option('--limit <number>', 'At most so many, 1 to 1000.', '20')
    .option('--after <place>', 'Only letters behind this place, as the page before says it.');
  return command.action((flags: ListFlags) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const answer = await client.deadLetters.list(filterOf(flags));
      if (asJson) return print.json(answer);
      const header = ['EVENT', 'NAME', 'JOB', 'TRIES', `GIVEN UP (${print.zone})`, 'ERROR'];
      const rows = answer.dead_letters.map((letter) => rowOf(letter, print));
      print.table(header, rows);
      if (answer.next !== null) print.line(`more: --after ${answer.next}`);
    }),
  );
}

function filterOf({ name, job, resolved = false, limit, after }: ListFlags): DeadLettersFilter {
  return {
    resolved,
    limit: limitOf(limit),
    ...(name === undefined ? {} : { name }),
    ...(job === undefined ? {} : { jobId: job }),
    ...(after === undefined ? {} : { after }),
  };
}

function rowOf(letter: DeadLetterView, print: Printer): string[] {
  const { id, name, job_id, tries, moved_at, resolved_at, error } = letter;
  const ending = resolved_at === null ? oneLine(error) : `resolved: ${oneLine(letter.notes ?? '')}`;
  return [id, oneLine(name), job_id, String(tries), print.time(moved_at), ending];
}

function showCommand(context: CliContext): Command {
  const command = clientCommand('show <event>', 'Show a dead letter, with its payload.');
  return command.action((id: string) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const letter = await client.deadLetters.get(id);
      if (asJson) print.json(letter);
      else show(letter, print);
    }),
  );
}

function show(letter: DeadLetterView, print: Printer): void {
  const { resolved_at, resolved_by, notes, error } = letter;
  const time = (at: string): string => `${print.time(at)} ${print.zone}`;
  print.fields([
    ['event', letter.id],
    ['name', oneLine(letter.name)],
    ['exchange', oneLine(letter.exchange)],
    ['job', letter.job_id],
    ['correlation', letter.correlation_id],
    ['emitted', time(letter.created_at)],
    ['given up', `${time(letter.moved_at)}, after ${letter.tries} tries`],
    ['error', oneLine(error)],
    ['resolved', resolved_at === null ? null : `${time(resolved_at)} by ${resolved_by ?? '?'}`],
    ['notes', notes === null || notes === '' ? null : plainText(notes)],
  ]);
  print.line();
  print.line(plainText(JSON.stringify(letter.payload, null, 2)));
}

function redriveCommand(context: CliContext): Command {
  const command = choosing(
    clientCommand('redrive [events...]', 'Send events to the bus again, their tries counted anew.'),
  );
  return command.action((ids: readonly string[], flags: ChoiceFlags) =>
    settle(command, context, { ids, flags, word: 'redriven' }, (client, some) =>
      client.deadLetters.redrive(some),
    ),
  );
}

function resolveCommand(context: CliContext): Command {
  const command = choosing(
    clientCommand('resolve [events...]', 'Be done with events; they stay to be seen.'),
  ).option('--notes <text>', 'Why nothing more is to be done.');
  return command.action((ids: readonly string[], flags: ChoiceFlags & { notes?: string }) =>
    settle(command, context, { ids, flags, word: 'resolved' }, (client, some) =>
      client.deadLetters.resolve(some, flags.notes === undefined ? {} : { notes: flags.notes }),
    ),
  );
}

function choosing(command: Command): Command {
  return command
    .option('--all', 'All that are unresolved.')
    .option('--name <name>', 'Of all, only events of this name.');
}

interface Choice {
  readonly ids: readonly string[];
  readonly flags: ChoiceFlags;
  /** What becomes of them. */
  readonly word: string;
}

function settle(
  command: Command,
  context: CliContext,
  { ids, flags, word }: Choice,
  act: (client: Client, ids: readonly string[]) => Promise<readonly string[]>,
): Promise<void> {
  checkChoice(ids, flags);
  return withSession(command, context, async ({ client, print, asJson }) => {
    const chosen = flags.all === true ? await unresolved(client, flags.name) : ids;
    const done: string[] = [];
    for (let next = 0; next < chosen.length; next += mostAtOnce)
      done.push(...(await act(client, chosen.slice(next, next + mostAtOnce))));
    if (asJson) print.json({ ids: done });
    else print.line(`${done.length} ${done.length === 1 ? 'event is' : 'events are'} ${word}`);
    const missing = flags.all === true ? [] : chosen.filter((id) => !done.includes(id));
    if (missing.length === 0) return;
    const message = `no unresolved dead letter: ${missing.join(', ')}`;
    throw new CapatazError('DEAD_LETTER_NOT_FOUND', message);
  });
}

/** @throws UsageError */
function checkChoice(ids: readonly string[], { all, name }: ChoiceFlags): void {
  if (all === true && ids.length > 0) throw new UsageError('name events, or give --all, not both');
  if (all !== true && ids.length === 0) throw new UsageError('name the events, or give --all');
  if (all !== true && name !== undefined) throw new UsageError('--name goes with --all');
}

/** Read before the first is settled, since those leave the list. */
async function unresolved(client: Client, name: string | undefined): Promise<string[]> {
  const ids: string[] = [];
  const filter = { limit: mostAtOnce, ...(name === undefined ? {} : { name }) };
  for await (const { id } of client.deadLetters.all(filter)) ids.push(id);
  return ids;
}
