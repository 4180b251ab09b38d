import type { Client } from 'capataz/client';
import { type ApplicationCommand, type ClientCommandContext, UsageError } from 'capataz/server';
import { z } from 'zod';
import { displayOf } from '../domain/failure.ts';
import { newJobId } from '../domain/job-id.ts';
import type { JobInput } from '../job/input.ts';
import { blueprintName } from '../job/names.ts';
import type { settings } from '../settings.ts';
import { recordReader, untilBooked } from './booked.ts';
import { readJobFile } from './job-file.ts';
import { optionsOf, tierOption } from './options.ts';

type Context = ClientCommandContext<typeof settings>;

const options = z.object({
  file: z.string().optional(),
  model: tierOption,
  verbose: z.boolean().default(false),
});

export const runCommand: ApplicationCommand<typeof settings> = {
  name: 'run [description...]',
  description: 'Run one job and wait for its end. Exit code 0: it is completed; 1: it failed.',
  options: [
    { flags: '--file <job.json>', description: 'The job, in place of a description.' },
    { flags: '--model <tier>', description: "haiku, sonnet or opus, in place of the router's." },
    { flags: '-v, --verbose', description: 'Tell of each step.' },
  ],
  async run(context) {
    const given = optionsOf(options, context.options);
    const input = { ...retriesOf(context), ...inputOf(context.arguments, given) };
    const { jobId } = await context.client.jobs.start(blueprintName, input, {
      jobId: newJobId(),
    });
    const { print, client, asJson } = context;
    if (!asJson) await tell(client, jobId, { print, isVerbose: given.verbose });
    const record = recordReader(context)(await client.jobs.wait(jobId));
    await untilBooked([jobId], context);
    const isDone = record.status === 'Completed';
    if (asJson) {
      print.json(record);
    } else {
      if (record.llm_response !== null) print.line(record.llm_response);
      const { agent, retry_count, extra } = record;
      const booked = extra.booked_usd === null ? 'unknown' : `${extra.booked_usd}`;
      print.line(
        print.style(
          isDone ? 'green' : 'red',
          `${jobId} ${record.status}${extra.stub ? ' (stub: no model was asked)' : ''}` +
            ` · ${agent?.skill ?? '-'} · ${agent?.model ?? '-'} · ${retry_count} retries` +
            ` · ${record.cost_usd} USD, booked ${booked}`,
        ),
      );
      if (extra.error !== null) print.line(displayOf(extra.error));
    }
    return isDone ? 0 : 1;
  },
};

function inputOf(words: readonly string[], { file, model }: z.infer<typeof options>): JobInput {
  const override = model === undefined ? {} : { model };
  if (file !== undefined && words.length > 0)
    throw new UsageError('run: a description or --file, not both');
  if (file !== undefined) return { ...readJobFile(file), ...override };
  if (words.length === 0) throw new UsageError('run: a description or --file is missing');
  return { description: words.join(' '), ...override };
}

/** Of this command line, whatever server it talks to. */
export function retriesOf({ settings: values }: Pick<Context, 'settings'>) {
  return { max_retries: values.maxRetries, base_delay_ms: values.baseDelayMs };
}

interface Telling {
  readonly print: Context['print'];
  readonly isVerbose: boolean;
}

/** A person who is awaited is told of in any case. */
async function tell(client: Client, jobId: string, { print, isVerbose }: Telling): Promise<void> {
  for await (const event of client.jobs.watch(jobId)) {
    if (event.type === 'progress') {
      if (isVerbose) print.line(print.style('dim', `  ${event.progress.message ?? ''}`));
      continue;
    }
    const { type, state, delay_ms } = event.entry;
    if (type === 'approval_asked')
      print.line(`waits for approval: capataz-llm approvals show ${jobId}`);
    if (!isVerbose) continue;
    if (type === 'state_entered') print.line(print.style('dim', `  ${state}`));
    if (type === 'timer_set') print.line(print.style('dim', `  tries again in ${delay_ms} ms`));
  }
}
