import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client, JobView } from 'capataz/client';
import { delay, systemClock } from 'capataz/server';
import { runBatch } from '../batch/batch.ts';
import type { Books } from '../books/books.ts';
import { FakeProvider } from '../fake-provider/fake-provider.ts';
import { recordInView } from '../job/view.ts';
import { isKnown } from '../models/contract.ts';
import type { LlmServer } from '../server.ts';
import { demoChecked, demoJobs, demoScript } from './jobs.ts';

const batchName = 'demo';
const lookEveryMs = 20;

export interface DemoOptions {
  readonly line: (text: string) => void;
  /** Told of the books when all jobs have ended. */
  readonly show: (books: Books) => void;
}

/** The whole application against a provider that is none: no key, no network. */
export async function runDemo(application: LlmServer, { line, show }: DemoOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-llm-demo-'));
  try {
    await using fake = await FakeProvider.start({ script: demoScript });
    const server = await application.start({
      config: { port: 0, dataDir: join(folder, 'data'), logLevel: 'error' },
      settings: {
        apiKey: 'no-key-is-needed',
        models: modelsFile(folder, fake.url),
        baseDelayMs: 500,
        totalTimeout: 4_000,
        concurrency: 4,
      },
    });
    try {
      line(`A fake provider at ${fake.url}, and ${demoJobs.length + demoChecked.length} jobs:\n`);
      await runJobs(server.client(), line);
      await untilBooked(server.stores.books, demoJobs.length + demoChecked.length);
      show(server.stores.books);
      line(comparison(server.stores.books, fake));
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runJobs(client: Client, line: DemoOptions['line']): Promise<void> {
  const stop = new AbortController();
  const told = tellOfRetries(client, line, stop.signal);
  const inputs = [...demoJobs, ...demoChecked];
  const batch = { name: batchName, inputs, concurrency: 20 };
  let ended = 0;
  const onEnded = (view: JobView): void => {
    ended += 1;
    const { status, agent, description } = recordInView(view);
    const mark = status === 'Completed' ? '✓' : '✗';
    line(
      `${mark} ${String(ended).padStart(2)}/${inputs.length} ${agent?.model ?? '-'}: ${description}`,
    );
  };
  for await (const _ of runBatch(client, batch, onEnded));
  stop.abort();
  await told;
}

async function tellOfRetries(client: Client, line: DemoOptions['line'], signal: AbortSignal) {
  for await (const { entry, job_id } of client.events({ signal })) {
    if (entry.type !== 'timer_set' || signal.aborted) continue;
    const { retry_count, failure, description } = recordInView(await client.jobs.get(job_id));
    const why = Object.values(failure ?? {})[0];
    line(`↻ retry ${retry_count} in ${entry.delay_ms} ms: ${description} (${why})`);
  }
}

/** What the provider will charge for, and what our books say. */
function comparison(books: Books, { meter }: FakeProvider): string {
  const known = books.calls().filter(({ usage }) => usage !== null && isKnown(usage));
  const ours = known.reduce(
    (sum, { usage }) => sum + (usage?.input ?? 0) + (usage?.output ?? 0),
    0,
  );
  const theirs = meter.total.input + meter.total.output;
  const unknown = books.calls().length - known.length;
  return (
    `\nThe provider's meter has ${meter.entries.length} requests with ${theirs} tokens; our books ` +
    `${books.calls().length} with ${ours}, and ${unknown} of which nobody told us.`
  );
}

/** The shipped models, asked at another place. */
function modelsFile(folder: string, url: string): string {
  const file = join(folder, 'models.toml');
  writeFileSync(file, `[providers.anthropic]\nbase_url = "${url}"\n`);
  return file;
}

/** A projection is a moment behind what it tells of. */
async function untilBooked(books: Books, jobs: number): Promise<void> {
  while ((books.totals()[0]?.jobs ?? 0) < jobs) await delay(systemClock, lookEveryMs);
}
