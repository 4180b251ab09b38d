import { CapatazError } from 'capataz';
import type { Client, JobView } from 'capataz/client';
import { jobIdFor } from '../domain/job-id.ts';
import type { JobInput } from '../job/input.ts';
import { blueprintName } from '../job/names.ts';

/** The lines of a file, as jobs. */
export interface Batch {
  /** Jobs of the same name, place and content are the same jobs: so a batch goes on after a kill. */
  readonly name: string;
  readonly inputs: readonly JobInput[];
  /** Jobs of it that are open at once. */
  readonly concurrency: number;
}

/** In one commit. */
const pageSize = 500;
/** Each holds a stream of events while it waits. */
const mostWaiting = 32;

/**
 * Starts what is not started yet and waits for all. `onEnded` is told in whatever order they end.
 * @returns the ended jobs, one by one, in the order of the inputs
 */
export async function* runBatch(
  client: Client,
  batch: Batch,
  onEnded: (view: JobView) => void = () => undefined,
): AsyncGenerator<JobView, void, void> {
  const ids = idsOf(batch);
  for (let at = 0; at < ids.length; at += pageSize) {
    await startPage(client, batch, { ids: ids.slice(at, at + pageSize), at });
  }
  const ended = ids.map(() => Promise.withResolvers<JobView>());
  // Each of them is awaited below, but maybe not before another has failed.
  for (const { promise } of ended) promise.catch(() => undefined);
  let next = 0;
  const waitForSome = async (): Promise<void> => {
    for (let index = next++; index < ids.length; index = next++) {
      try {
        const view = await settledJob(client, ids[index] ?? '');
        onEnded(view);
        ended[index]?.resolve(view);
      } catch (error) {
        ended[index]?.reject(error);
      }
    }
  };
  const waiting = Array.from({ length: mostWaiting }, waitForSome);
  for (const { promise } of ended) yield await promise;
  await Promise.all(waiting);
}

/** One that is quarantined is not over: an operator lets it go on or gives it up. */
async function settledJob(client: Client, id: string): Promise<JobView> {
  for (;;) {
    const view = await client.jobs.wait(id);
    if (view.ended_at !== null) return view;
    for await (const _ of client.jobs.watch(id)) {
      // The book tells of nothing more once the job has ended.
    }
  }
}

async function startPage(
  client: Client,
  { name, inputs, concurrency }: Batch,
  { ids, at }: { readonly ids: readonly string[]; readonly at: number },
): Promise<void> {
  const answers = await client.jobs.startMany(
    blueprintName,
    ids.map((jobId, index) => ({
      input: inputs[at + index] ?? null,
      options: {
        jobId,
        attributes: { batch: name, line: at + index + 1 },
        concurrency: { key: `llm-batch:${name}`, limit: concurrency },
      },
    })),
  );
  for (const answer of answers) {
    // It was started by an earlier run.
    if (answer instanceof CapatazError && answer.code !== 'JOB_EXISTS') throw answer;
  }
}

function idsOf({ name, inputs }: Batch): string[] {
  return inputs.map((input, index) => jobIdFor(name, index, input));
}
