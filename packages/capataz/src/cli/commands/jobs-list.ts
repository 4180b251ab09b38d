import type { Command } from 'commander';
import type { JobsFilter, JobView } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../exit.ts';
import { attributeOf, collected } from '../flag-values.ts';
import { oneLine, type Printer } from '../output.ts';

interface Flags {
  readonly status?: string;
  readonly blueprint?: string;
  readonly state?: string;
  readonly correlation?: string;
  readonly attr?: readonly string[];
  readonly limit: string;
  readonly before?: string;
}

export function jobsListCommand(context: CliContext): Command {
  const command = clientCommand('list', 'List jobs, newest first.')
    .option('--status <statuses>', 'Only these, separated by commas: running,failed')
    .option('--blueprint <name>', 'Only jobs of this blueprint.')
    .option('--state <name>', 'Only jobs in this state.')
    .option('--correlation <id>', 'Only jobs with this correlation id.')
    .option(
      '--attr <name=value>',
      'Only jobs with this attribute; may be given several times. The value is JSON where it is that, else text.',
      collected,
    )
    .option('--limit <number>', 'At most so many, 1 to 1000.', '20')
    .option('--before <id>', 'Only jobs behind this one: the last of the page before.');
  return command.action((flags: Flags) =>
    withSession(command, context, async ({ client, print, asJson }) => {
      const answer = await client.jobs.list(filterOf(flags));
      if (asJson) return print.json(answer);
      const header = ['ID', 'BLUEPRINT', 'STATE', 'STATUS', `CREATED (${print.zone})`];
      const hasErrors = answer.jobs.some(({ error }) => error !== null);
      const rows = answer.jobs.map((job) => rowOf(job, print));
      print.table(hasErrors ? [...header, 'ERROR'] : header, rows);
      if (answer.next !== null) print.line(`more: --before ${answer.next}`);
    }),
  );
}

function rowOf(job: JobView, print: Printer): string[] {
  const { id, blueprint, state, status, held, created_at, error } = job;
  const cells = [id, blueprint, state, held ? `${status} (held)` : status, print.time(created_at)];
  return error === null ? cells : [...cells, oneLine(`${error.code} ${error.message}`)];
}

function filterOf({
  status,
  blueprint,
  state,
  correlation,
  attr = [],
  ...page
}: Flags): JobsFilter {
  const attributes = Object.fromEntries(attr.map((text) => attributeOf('--attr', text)));
  return {
    ...pageOf(page),
    ...(status === undefined ? {} : { status: status.split(',') }),
    ...(blueprint === undefined ? {} : { blueprint }),
    ...(state === undefined ? {} : { state }),
    ...(correlation === undefined ? {} : { correlationId: correlation }),
    ...(attr.length === 0 ? {} : { attributes }),
  };
}

/** @throws UsageError */
export function pageOf({
  limit,
  before,
}: Pick<Flags, 'limit' | 'before'>): Pick<JobsFilter, 'limit' | 'before'> {
  const number = limitOf(limit);
  if (before !== undefined && !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(before)) {
    throw new UsageError(`--before must be the id of a job, not "${before}"`);
  }
  return { limit: number, ...(before === undefined ? {} : { before }) };
}

/** @throws UsageError */
export function limitOf(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= 1_000) return number;
  throw new UsageError(`--limit must be a whole number from 1 to 1000, not "${text}"`);
}
