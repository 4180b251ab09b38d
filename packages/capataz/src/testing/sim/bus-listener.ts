import type { Bus, BusEvent } from '../../bus/contract.ts';
import { busSource, createSubscriber } from '../../bus/subscriber.ts';
import type { Job } from '../../core/job.ts';
import type { Engine } from '../../engine/engine.ts';
import type { SentSignal } from '../../engine/ports.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { listenerQueue } from './bus.ts';
import type { Moods } from './moods.ts';
import type { SimProcess } from './process.ts';
import { isForgotten } from './wait-blueprints.ts';

interface ListenerParts {
  readonly engine: Engine;
  readonly process: SimProcess;
  readonly link: Bus;
  readonly moods: Moods;
  /** It did what the event asks for, as far as it can be done. */
  readonly onHandled: (event: BusEvent) => void;
  /** The answer to a question is stored. */
  readonly onAnswered: (jobId: string) => void;
}

/** No letter outlives it; longer than any step of the clock. */
const keepForMs = 30 * 86_400_000;
const longestMs = 1_500;

/** What an application subscribes: it answers what jobs say with letters, ticks and decisions. */
export function listen(parts: ListenerParts): void {
  const { process, link, moods } = parts;
  createSubscriber({
    name: 'sim',
    source: busSource(link, listenerQueue),
    clock: process.clock,
    random: moods.dice.fork(),
    concurrency: 2,
    maxFailures: 3,
    buffer: 10,
    handle: async (event) => {
      await moods.wait(moods.dice.between(0, longestMs));
      if (moods.dice.chance(moods.throws)) throw new Error('a bad mood');
      await answer(parts, event);
      parts.onHandled(event);
    },
  });
}

async function answer({ engine, onAnswered }: ListenerParts, event: BusEvent): Promise<void> {
  const { job, id, name } = event;
  const signal = { client: 'sim', id, data: id, actor: 'listener' };
  if (name === 'still-there') await send(engine, { ...signal, name: 'tick', to: { jobId: job } });
  if (name === 'question') {
    const letter = { ...signal, name: 'answer', to: { key: `asker-${job}` }, keepForMs };
    if (await send(engine, letter)) onAnswered(job);
  }
  if (name === 'asked') await decide(engine, await engine.jobs.get(job, null));
}

/** @returns whether it was taken. @throws where it may help to try again. */
async function send(engine: Engine, signal: SentSignal): Promise<boolean> {
  const [answered] = await engine.signals.send([signal]);
  if (answered?.type !== 'refused') return true;
  if (isForGood(answered.error)) return false;
  throw answered.error;
}

async function decide(engine: Engine, { id, input, wait }: Job): Promise<void> {
  if (wait?.type !== 'approval' || isForgotten({ input })) return;
  const decision = { decision: 'approved', wait: wait.id, hash: wait.hash, actor: 'ana' };
  try {
    await engine.signals.decide(id, { ...decision, revision: null, comment: null, data: null });
  } catch (error) {
    if (!isForGood(error)) throw error;
  }
}

function isForGood(error: unknown): boolean {
  return error instanceof CapatazError && error.status < 500;
}
