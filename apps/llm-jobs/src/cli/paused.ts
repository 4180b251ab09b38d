import type { Client } from 'capataz/client';
import { delay, systemClock } from 'capataz/server';
import { blueprintName } from '../job/names.ts';

const lookEveryMs = 2_000;

/** Tells how many jobs of a batch wait for a person, whenever that changes, until it is disposed of. */
export function watchPaused(
  client: Client,
  batch: string,
  tell: (paused: number) => void,
): Disposable {
  const stop = new AbortController();
  const filter = { blueprint: blueprintName, status: ['waiting_for_human'], attributes: { batch } };
  const watch = async (): Promise<void> => {
    let told = 0;
    for (;;) {
      await delay(systemClock, lookEveryMs, stop.signal);
      if (stop.signal.aborted) return;
      let paused = 0;
      for await (const _ of client.jobs.all(filter)) paused += 1;
      if (paused !== told && !stop.signal.aborted) tell(paused);
      told = paused;
    }
  };
  // It only tells: what ends it, a server that is gone too, is the batch's own matter.
  watch().catch(() => undefined);
  return { [Symbol.dispose]: () => stop.abort() };
}
