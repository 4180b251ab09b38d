import { existsSync, writeFileSync } from 'node:fs';
import { type ApplicationCommand, type CommandContext, UsageError } from 'capataz/server';
import { z } from 'zod';
import { Books, type Grouping, groupings, type RecordFilter } from '../books/books.ts';
import {
  csvHeader,
  csvLine,
  recordCells,
  recordHeader,
  totalsCells,
  totalsHeader,
  totalsView,
} from '../books/formats.ts';
import { booksFile } from '../books/place.ts';
import { tierNamed } from '../job/input.ts';
import type { settings } from '../settings.ts';
import { optionsOf, tierOption, writing } from './options.ts';

type Context = CommandContext<typeof settings>;

const formats = ['table', 'jsonl', 'csv'] as const;
const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'must be a day, 2026-11-28, or an instant, 2026-11-28T14:30:00Z',
});

const options = z.object({
  status: z.enum(['Completed', 'Failed']).optional(),
  skill: z.string().optional(),
  tier: tierOption.transform((word) => tierNamed(word ?? '') ?? undefined),
  client: z.string().optional(),
  batch: z.string().optional(),
  since: moment.optional(),
  until: moment.optional(),
  by: z.enum(groupings).optional(),
  format: z.enum(formats).default('table'),
  output: z.string().optional(),
  calls: z.boolean().default(false),
});
type Options = z.infer<typeof options>;

export const auditCommand: ApplicationCommand<typeof settings> = {
  name: 'audit [job]',
  description: 'The records of jobs that have ended, and their totals; with or without a server.',
  needsServer: false,
  options: [
    { flags: '--status <status>', description: 'Completed or Failed.' },
    { flags: '--skill <skill>', description: 'Only jobs of this skill.' },
    { flags: '--tier <tier>', description: 'Only jobs of this tier.' },
    { flags: '--client <name>', description: 'Only jobs of this client.' },
    { flags: '--batch <name>', description: 'Only jobs of this batch.' },
    { flags: '--since <day>', description: 'Ended on this day or later (UTC), or instant.' },
    { flags: '--until <day>', description: 'Ended before this day (UTC), or instant.' },
    { flags: '--by <what>', description: `Totals by ${groupings.join(', ')}, and no records.` },
    { flags: '--format <format>', description: 'table (default), jsonl or csv.' },
    { flags: '--output <file>', description: 'Write there.' },
    { flags: '--calls', description: 'The calls in place of the records, as JSON lines.' },
  ],
  run(context) {
    const given = optionsOf(options, context.options);
    const file = booksFile(context.config);
    if (!existsSync(file)) throw new UsageError(`audit: there are no books at ${file}`);
    using books = new Books(file, { readOnly: true });
    return show(books, context, given);
  },
};

function show(books: Books, context: Context, given: Options): number {
  const { by, format, output, calls, ...filter } = given;
  const [jobId] = context.arguments;
  if (calls)
    return writeLines(
      books.calls(jobId).map((call) => JSON.stringify(call)),
      context,
      output,
    );
  if (jobId !== undefined) return showOne(books, jobId, context);
  if (by !== undefined) return showTotals(books, { by, filter }, context);
  if (format === 'table' && !context.asJson) return showTable(books, filter, context);
  return writeLines(linesOf(books, filter, context.asJson ? 'jsonl' : format), context, output);
}

function showOne(books: Books, jobId: string, { print }: Context): number {
  const record = books.record(jobId);
  if (record === null) throw new UsageError(`audit: no ended job has the id ${jobId}`);
  print.json(record);
  return 0;
}

function showTotals(
  books: Books,
  { by, filter }: { readonly by: Grouping; readonly filter: RecordFilter },
  { print, asJson }: Context,
): number {
  const totals = books.totals(filter, by);
  if (asJson) print.json(totals.map(totalsView));
  else print.table([...totalsHeader], totals.map(totalsCells));
  return 0;
}

function showTable(books: Books, filter: RecordFilter, { print }: Context): number {
  print.table([...recordHeader], [...books.records(filter)].map(recordCells));
  print.line();
  print.table([...totalsHeader], books.totals(filter).map(totalsCells));
  return 0;
}

function* linesOf(books: Books, filter: RecordFilter, format: (typeof formats)[number]) {
  if (format === 'csv') yield csvHeader;
  for (const record of books.records(filter))
    yield format === 'csv' ? csvLine(record) : JSON.stringify(record);
}

function writeLines(
  lines: Iterable<string>,
  { print }: Context,
  output: string | undefined,
): number {
  if (output === undefined) {
    for (const line of lines) print.line(line);
  } else {
    const text = `${[...lines].join('\n')}\n`;
    writing(output, () => writeFileSync(output, text));
  }
  return 0;
}
