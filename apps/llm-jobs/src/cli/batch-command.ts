import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, openSync } from 'node:fs';
import { type ApplicationCommand, UsageError } from 'capataz/server';
import { z } from 'zod';
import { runBatch } from '../batch/batch.ts';
import type { JobInput } from '../job/input.ts';
import type { settings } from '../settings.ts';
import { Bar } from './bar.ts';
import { recordReader, untilBooked } from './booked.ts';
import { jobIn, textOf } from './job-file.ts';
import { optionsOf, tierOption, writing } from './options.ts';
import { watchPaused } from './paused.ts';
import { retriesOf } from './run-command.ts';

const options = z.object({
  name: z.string().min(1).max(200).optional(),
  output: z.string().optional(),
  jobs: z.coerce.number().int().min(1).max(1_000).default(16),
  model: tierOption,
});

export const batchCommand: ApplicationCommand<typeof settings> = {
  name: 'batch <file.jsonl>',
  description:
    'Run a job for each line: a description as a JSON string, or an object. Records come out as JSON lines in the same order. After a kill the same command goes on. Exit code 0: all are completed.',
  options: [
    { flags: '--output <file>', description: 'Where records go. Default: standard output.' },
    { flags: '--jobs <n>', description: 'Jobs that are open at once. Default 16.' },
    { flags: '--model <tier>', description: "For all jobs, in place of the router's." },
    { flags: '--name <name>', description: 'Of this run of the file; another name runs it anew.' },
  ],
  async run(context) {
    const { output, jobs: concurrency, model, name } = optionsOf(options, context.options);
    const [file = ''] = context.arguments;
    const text = textOf(file);
    const defaults = { ...retriesOf(context), ...(model === undefined ? {} : { model }) };
    const inputs = inputsIn(text, file).map((input) => ({ ...defaults, ...input }));
    const batch = { name: name ?? nameOf(text), inputs, concurrency };
    const read = recordReader(context);
    const bar = new Bar(inputs.length);
    const sink = output === undefined ? null : sinkAt(output);
    using _ = watchPaused(context.client, batch.name, (paused) => bar.pause(paused));
    const ids: string[] = [];
    for await (const view of runBatch(context.client, batch, (view) => bar.count(read(view)))) {
      const line = JSON.stringify(read(view));
      if (sink === null) context.print.line(line);
      else if (!sink.write(`${line}\n`)) await once(sink, 'drain');
      ids.push(view.id);
    }
    if (sink !== null) await once(sink.end(), 'finish');
    await untilBooked(ids, context);
    bar.end();
    return bar.failed === 0 ? 0 : 1;
  },
};

/** Opened before any job is started. */
function sinkAt(file: string) {
  return createWriteStream(file, { fd: writing(file, () => openSync(file, 'w')) });
}

/** @throws UsageError that names file, line and field, for everything that is wrong */
export function inputsIn(text: string, file: string): JobInput[] {
  const problems: string[] = [];
  const inputs = text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    try {
      return [jobIn(line, `${file}:${index + 1}`)];
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(error.message);
      return [];
    }
  });
  if (problems.length > 0) throw new UsageError(problems.slice(0, 20).join('\n'));
  return inputs;
}

function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
