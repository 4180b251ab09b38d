import type { Task } from '../../core/job.ts';
import type { Engine } from '../../engine/engine.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { parseHeartbeat } from '../../server/parse/heartbeat.ts';
import { parseRegistration } from '../../server/parse/registration.ts';
import { parseResults } from '../../server/parse/results.ts';
import { parseWorkerEvent } from '../../server/parse/worker-event.ts';
import { batchResultAnswer, taskBody } from '../../server/worker-views.ts';
import { type Clock, delay } from '../../std/clock.ts';
import type { JsonValue } from '../../std/json.ts';
import { type Transport, TransportError } from '../../worker/transport.ts';
import type { Dice } from './dice.ts';
import { never, type SimProcess } from './process.ts';

export interface NetworkFaults {
  /** Share of requests that never arrive. */
  readonly loseRequest: number;
  /** Share of answers that never arrive, though the request was served. */
  readonly loseAnswer: number;
  /** Share of answers that break in the middle: the server sees it, and the worker too. */
  readonly cutAnswer: number;
  /** Share of requests that arrive twice. */
  readonly duplicate: number;
  /** Share of losses that nobody notices: no reset, only silence. */
  readonly blackHole: number;
  /** Longest way, in ms, each direction. Different ways reorder messages. */
  readonly latencyMs: number;
}

export const calmNetwork: NetworkFaults = {
  loseRequest: 0,
  loseAnswer: 0,
  cutAnswer: 0,
  duplicate: 0,
  blackHole: 0,
  latencyMs: 2,
};

type Target = { readonly engine: Engine; readonly process: SimProcess } | null;

export type RequestKind = Exclude<keyof Transport, 'close'>;

export interface NetworkParts {
  /** The engine that such a request comes to at the moment, if one listens. */
  readonly engine: (kind: RequestKind) => Target;
  readonly worker: string;
  readonly process: SimProcess;
  readonly dice: Dice;
  readonly faults: () => NetworkFaults;
  /** Told when a registration is stored. */
  readonly onRegistered: () => void;
  /** Told when the server says that it took the report of an attempt. */
  readonly onAccepted: (attempt: string) => void;
}

/** How a simulated worker reaches whatever engine is up: the real parsers and views, no sockets. */
export function simTransport(parts: NetworkParts): Transport {
  const send = <T>(kind: RequestKind, signal: AbortSignal, serve: Serve<T>): Promise<T> =>
    parts.process.answer(request({ ...parts, target: () => parts.engine(kind) }, signal, serve));
  /** What the HTTP server does when the reply with the tasks was flushed, or was not. */
  const hand = (engine: Engine, tasks: readonly Task[]): void => {
    if (tasks.length === 0) return;
    if (!parts.dice.chance(parts.faults().cutAnswer)) {
      engine.workers.delivered(parts.worker, tasks);
      return;
    }
    engine.workers.undelivered(parts.worker, tasks).catch(() => undefined);
    throw new TransportError('connection reset');
  };
  return {
    register: (body, signal) =>
      send('register', signal, async ({ engine }) => {
        await engine.workers.register(parseRegistration(wire(body)));
        parts.onRegistered();
      }),
    heartbeat: (body, signal) =>
      send('heartbeat', signal, async ({ engine }) => {
        const cancelled = await engine.workers.heartbeat(
          parts.worker,
          parseHeartbeat(wire(body)).beat,
        );
        return cancelled.length > 0
          ? { status: 'ok' as const, cancel_task_ids: cancelled }
          : { status: 'ok' as const };
      }),
    poll: ({ max, timeoutSeconds }, signal) =>
      send('poll', signal, async ({ engine, gone }) => {
        const timeoutMs = timeoutSeconds * 1_000;
        const tasks = await engine.workers.poll(parts.worker, { max, timeoutMs, signal: gone });
        hand(engine, tasks);
        return tasks.map(taskBody);
      }),
    report: (body, signal) =>
      send('report', signal, async ({ engine }) => {
        const { results, want } = parseResults(wire(body), 10_000);
        const reports = results.map(({ report }) => report);
        const { answers, tasks } = await engine.workers.report(parts.worker, reports, want);
        hand(engine, tasks);
        for (const [index, answer] of answers.entries()) {
          const attempt = reports[index]?.attempt;
          if (answer.type === 'accepted' && attempt !== undefined) parts.onAccepted(attempt);
        }
        return {
          results: answers.map(batchResultAnswer),
          tasks: tasks.map(taskBody),
        };
      }),
    event: (body, signal) =>
      send('event', signal, async ({ engine }) => {
        const event = parseWorkerEvent(wire(body));
        if (event.type === 'progress')
          await engine.workers.progress(parts.worker, event.jobId, event.progress);
      }),
    close: () => undefined,
  };
}

interface Served {
  readonly engine: Engine;
  /** Aborts when the connection that carries the request breaks. */
  readonly gone: AbortSignal;
}

type Serve<T> = (served: Served) => Promise<T>;

/** What crosses the wire is text: nothing is shared between the two sides. */
function wire(body: object): JsonValue {
  return JSON.parse(JSON.stringify(body)) as JsonValue;
}

interface RequestParts extends NetworkParts {
  readonly target: () => Target;
}

async function request<T>(parts: RequestParts, signal: AbortSignal, serve: Serve<T>): Promise<T> {
  const { dice, faults, process } = parts;
  const { loseRequest, loseAnswer, duplicate, blackHole, latencyMs } = faults();
  const plan = {
    there: dice.between(0, latencyMs),
    back: dice.between(0, latencyMs),
    lostThere: dice.chance(loseRequest),
    lostBack: dice.chance(loseAnswer),
    twice: dice.chance(duplicate),
    silent: dice.chance(blackHole),
  };
  await delay(process.clock, plan.there, signal);
  if (plan.lostThere) return lost(process.clock, signal, plan.silent);
  const gone = new AbortController();
  const breakConnection = (): void => gone.abort();
  signal.addEventListener('abort', breakConnection, { once: true });
  if (plan.twice) arrive(parts, gone.signal, serve).catch(() => undefined);
  const answer = await Promise.race([arrive(parts, gone.signal, serve), aborted(signal)]);
  await delay(process.clock, plan.back, signal);
  if (plan.lostBack) return lost(process.clock, signal, plan.silent);
  return answer;
}

async function arrive<T>(parts: RequestParts, gone: AbortSignal, serve: Serve<T>): Promise<T> {
  const target = parts.target();
  if (target === null) throw new TransportError('connection refused');
  const { process } = target;
  await process.awake();
  if (!target.engine.ready)
    throw new TransportError('not ready', { status: 503, code: 'NOT_READY' });
  try {
    return await Promise.race([
      process.answer(serve({ engine: target.engine, gone })),
      died(process),
    ]);
  } catch (error) {
    if (error instanceof CapatazError) {
      throw new TransportError(error.message, { status: error.status, code: error.code });
    }
    throw error;
  }
}

/** A reset is noticed at once, a black hole only by whoever loses patience. */
async function lost(clock: Clock, signal: AbortSignal, silent: boolean): Promise<never> {
  if (silent) return aborted(signal);
  await delay(clock, 1, signal);
  throw new TransportError('connection reset');
}

function aborted(signal: AbortSignal): Promise<never> {
  if (signal.aborted) return Promise.reject(new TransportError('aborted'));
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new TransportError('aborted')), { once: true });
  });
}

/** A process that dies closes its connections; the peers see it. */
function died(process: SimProcess): Promise<never> {
  return process.alive
    ? process.death.then(() => Promise.reject(new TransportError('connection reset')))
    : never();
}
