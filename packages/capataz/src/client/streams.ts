import { CapatazError } from '../protocol/errors.ts';
import { type Clock, delay } from '../std/clock.ts';
import type { Random } from '../std/random.ts';
import { type ReceivedEvent, readEvents } from './event-reader.ts';
import { backoffMs, type Http } from './http.ts';

export interface StreamOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: Random;
  readonly path: string;
  /** Only what comes behind this id. */
  readonly after: number;
  readonly signal: AbortSignal | undefined;
}

/** Three missed heartbeats of the server: the connection is dead without saying so. */
const silenceMs = 45_000;

/** Connections in a row that brought nothing before the failure is thrown: some two minutes. */
const maxFailures = 30;

/**
 * Events of a stream that is opened anew from the last id whenever it breaks. Ends when the server
 * answers that there is nothing more, or when the signal aborts.
 * @throws CapatazError: a refusal, or UNREACHABLE when the server stays away
 */
export async function* followEvents(
  options: StreamOptions,
): AsyncGenerator<ReceivedEvent, void, void> {
  const { clock, random, signal } = options;
  let after = options.after;
  let failures = 0;
  while (!signal?.aborted) {
    try {
      for await (const event of oneConnection(options, after)) {
        if (event === 'over') return;
        failures = 0;
        if (event.id !== undefined) after = Number(event.id);
        if (event.data !== '') yield event;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassing(error) || failures >= maxFailures) throw error;
    }
    failures += 1;
    await delay(clock, backoffMs(failures, random), signal);
  }
}

async function* oneConnection(
  { http, clock, path, signal }: StreamOptions,
  after: number,
): AsyncGenerator<ReceivedEvent | 'over', void, void> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal?.addEventListener('abort', abort, { once: true });
  let cancel = clock.after(silenceMs, abort);
  const heard = (): void => {
    cancel();
    cancel = clock.after(silenceMs, abort);
  };
  try {
    const response = await http.open({ method: 'GET', path, query: { after } }, controller.signal);
    if (response.status === 204) {
      yield 'over';
      return;
    }
    if (response.body !== null) yield* readEvents(response.body, heard);
  } finally {
    cancel();
    signal?.removeEventListener('abort', abort);
    controller.abort();
  }
}

/** A connection that broke while it was read throws whatever fetch throws. */
function isPassing(error: unknown): boolean {
  if (error instanceof CapatazError) return error.retryable;
  return !(error instanceof RangeError);
}
