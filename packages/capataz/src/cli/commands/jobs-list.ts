import type { Command } from 'commander';
import type { JobsFilter } from '../../client/index.ts';
import { clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../exit.ts';
import { attributeOf, collected } from '../flag-values.ts';

interface Flags {
  readonly status?: string;
  readonly blueprint?: string;
  readonly state?: string;
  readonly attr?: readonly string[];
  readonly limit: string;
  readonly before?: string;
}

export function jobsListCommand(context: CliContext): Command {
  const command = clientCommand('list', 'List jobs, newest first.')
    .option('--status <statuses>', 'Only these, separated by commas: running,failed')
    .option('--blueprint <name>', 'Only jobs of this blueprint.')
    .option('--state <name>', 'Only jobs in this state.')
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
      const rows = answer.jobs.map((job) => [
        job.id,
        job.blueprint,
        job.state,
        job.held ? `${job.status} (held)` : job.status,
        print.time(job.created_at),
      ]);
      print.table(['ID', 'BLUEPRINT', 'STATE', 'STATUS', `CREATED (${print.zone})`], rows);
      if (answer.next !== null) print.line(`more: --before ${answer.next}`);
    }),
  );
}

function filterOf({ status, blueprint, state, attr = [], ...page }: Flags): JobsFilter {
  const attributes = Object.fromEntries(attr.map((text) => attributeOf('--attr', text)));
  return {
    ...pageOf(page),
    ...(status === undefined ? {} : { status: status.split(',') }),
    ...(blueprint === undefined ? {} : { blueprint }),
    ...(state === undefined ? {} : { state }),
    ...(attr.length === 0 ? {} : { attributes }),
  };
}

/** @throws UsageError */
export function pageOf({
  limit,
  before,
}: Pick<Flags, 'limit' | 'before'>): Pick<JobsFilter, 'limit' | 'before'> {
  const number = Number(limit);
  if (!Number.isInteger(number) || number < 1 || number > 1_000) {
    throw new UsageError(`--limit must be a whole number from 1 to 1000, not "${limit}"`);
  }
  if (before !== undefined && !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(before)) {
    throw new UsageError(`--before must be the id of a job, not "${before}"`);
  }
  return { limit: number, ...(before === undefined ? {} : { before }) };
}
