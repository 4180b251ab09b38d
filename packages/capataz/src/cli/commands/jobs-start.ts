import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { ConcurrencyOption, StartOptions } from '../../client/index.ts';
import { storeName } from '../../config/store-place.ts';
import { codeOf } from '../../config/toml.ts';
import type { JsonValue } from '../../std/json.ts';
import { type ClientSession, clientCommand, withSession } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../exit.ts';
import { durationOf, jsonOf, objectOf, wholeNumber } from '../flag-values.ts';
import { followJob, isSettled } from '../watch.ts';

interface Flags {
  readonly input?: string;
  readonly id?: string;
  readonly priority?: string;
  readonly key?: string;
  readonly attributes?: string;
  readonly metadata?: string;
  readonly delay?: string;
  readonly concurrencyKey?: string;
  readonly concurrencyLimit?: string;
  readonly onBusy?: ConcurrencyOption['onBusy'];
  readonly watch?: boolean;
}

export function jobsStartCommand(context: CliContext): Command {
  const command = clientCommand(
    'start <blueprint>',
    'Start a job and print its id. It is stored when the id is printed.',
  )
    .option('-i, --input <json>', "The job's input: JSON, @file, or - for standard input.")
    .option('--id <uuid>', "The job's id. Default: a new one.")
    .option('--priority <number>', '−1000 to 1000, higher first. Default 0.')
    .option(
      '--key <text>',
      'Idempotency key: a second start with it is answered with the first job.',
    )
    .option('--attributes <json>', 'Searchable attributes, a JSON object.')
    .option('--metadata <json>', 'Passed through to handlers, a JSON object.')
    .option('--delay <duration>', 'Before the job begins, like 10s.')
    .option('--concurrency-key <text>', 'Limits the open jobs of this key.')
    .option('--concurrency-limit <number>', 'So many of them, at most.')
    .addOption(
      new Option(
        '--on-busy <what>',
        'Where the key is full: wait for a place, start no job, or refuse. Default queue.',
      ).choices(['queue', 'skip', 'refuse']),
    )
    .option('-w, --watch', 'Stay and tell what happens, until the job has ended.');
  return command.action((blueprint: string, flags: Flags) =>
    withSession(command, context, (session) => startJob(session, blueprint, flags), {
      needsBlueprints: true,
    }),
  );
}

async function startJob(session: ClientSession, blueprint: string, flags: Flags): Promise<void> {
  const { client, print, context } = session;
  const input = flags.input === undefined ? undefined : await inputOf(flags.input, context);
  const { jobId } = await client.jobs.start(blueprint, input, startOptions(flags));
  if (session.asJson) print.jsonLine({ job_id: jobId, status: 'accepted' });
  else print.line(jobId);
  await tellWhoMovesIt(session, jobId, flags);
  if (flags.watch) await followJob(session, jobId);
}

/** Without a server nothing begins to move once this command has ended. */
async function tellWhoMovesIt(
  { client, context, config, embeddedUrl }: ClientSession,
  jobId: string,
  { watch = false }: Flags,
): Promise<void> {
  if (embeddedUrl === null || isSettled(await client.jobs.get(jobId))) return;
  const { storeUrl } = config.values;
  const place = storeName(config.values);
  const goesOn = storeUrl === null ? `serve --data-dir ${place}` : 'serve --store-url …';
  const {
    stderr,
    application: { name },
  } = context;
  stderr.write(
    watch
      ? `this command is a server of ${place} while it watches: \`${name} worker <module> --url ${embeddedUrl}\` works for it\n`
      : `the job is stored; it goes on when a server runs on this store: \`${name} ${goesOn}\`\n`,
  );
}

function startOptions(flags: Flags): StartOptions {
  const { id, priority, key, attributes, metadata, delay } = flags;
  return {
    ...concurrencyOf(flags),
    ...(id === undefined ? {} : { jobId: id }),
    ...(priority === undefined ? {} : { priority: wholeNumber('--priority', priority) }),
    ...(key === undefined ? {} : { idempotencyKey: key }),
    ...(attributes === undefined ? {} : { attributes: objectOf('--attributes', attributes) }),
    ...(metadata === undefined ? {} : { metadata: objectOf('--metadata', metadata) }),
    ...(delay === undefined ? {} : { startDelay: durationOf('--delay', delay) }),
  };
}

function concurrencyOf(flags: Flags): Pick<StartOptions, 'concurrency'> {
  const { concurrencyKey: key, concurrencyLimit, onBusy } = flags;
  if (key === undefined && concurrencyLimit === undefined && onBusy === undefined) return {};
  if (key === undefined || concurrencyLimit === undefined)
    throw new UsageError('--concurrency-key and --concurrency-limit go together');
  const limit = wholeNumber('--concurrency-limit', concurrencyLimit);
  return { concurrency: { key, limit, ...(onBusy === undefined ? {} : { onBusy }) } };
}

async function inputOf(text: string, { directory, readStdin }: CliContext): Promise<JsonValue> {
  if (text === '-') return jsonOf('standard input', await readStdin());
  if (!text.startsWith('@')) return jsonOf('--input', text);
  const path = resolve(directory, text.slice(1));
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--input: ${path} cannot be read (${codeOf(error)})`);
  }
  return jsonOf(path, content);
}
