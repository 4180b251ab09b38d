import type {
  BlueprintsAnswer,
  BlueprintView,
  CancelDrainAnswer,
  DrainAnswer,
  JobEventView,
  WorkersAnswer,
  WorkerView,
} from '../protocol/client-api.ts';
import { CapatazError } from '../protocol/errors.ts';
import { type Clock, systemClock } from '../std/clock.ts';
import { type Random, systemRandom } from '../std/random.ts';
import { type Approvals, createApprovals } from './approvals.ts';
import { createDeadLetters, type DeadLetters } from './dead-letters.ts';
import { createFiles, type Files } from './files.ts';
import { Http } from './http.ts';
import { createJobs, type Jobs, type WatchOptions } from './jobs.ts';
import { createSchedules, type Schedules } from './schedules.ts';
import { createSignals, type Signals } from './signals.ts';
import { followEvents } from './streams.ts';

export interface ClientOptions {
  /** The server's base URL, `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The client's token. Not needed in open mode. */
  readonly token?: string;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Default: the machine's. */
  readonly random?: Random;
}

export interface Client {
  readonly jobs: Jobs;
  readonly signals: Signals;
  readonly approvals: Approvals;
  readonly deadLetters: DeadLetters;
  readonly schedules: Schedules;
  readonly files: Files;
  readonly blueprints: {
    list(): Promise<readonly BlueprintView[]>;
    /** The named version, else the highest. @throws BLUEPRINT_NOT_FOUND */
    get(name: string, options?: { readonly version?: number }): Promise<BlueprintView>;
    /** Text of the picture. Default format `dot`. @throws BLUEPRINT_NOT_FOUND */
    graph(name: string, options?: GraphOptions): Promise<string>;
  };
  readonly workers: {
    list(): Promise<readonly WorkerView[]>;
    /**
     * No further tasks go to it.
     * @throws WORKER_NOT_FOUND, INVALID_WORKER_STATE_TRANSITION where it drains already
     */
    drain(id: string): Promise<DrainAnswer>;
    /**
     * It takes tasks again.
     * @throws WORKER_NOT_FOUND, INVALID_WORKER_STATE_TRANSITION where it does not drain
     */
    cancelDrain(id: string): Promise<CancelDrainAnswer>;
  };
  /** Entries of all jobs of this client with their positions, live, for ever. */
  events(options?: WatchOptions): AsyncIterable<PositionedEvent>;
  /** Whether the process answers at all. Never throws. */
  health(): Promise<boolean>;
  /** Whether the server takes work. Never throws. */
  ready(): Promise<boolean>;
}

export interface GraphOptions {
  readonly format?: 'dot' | 'svg' | 'mermaid';
  readonly version?: number;
}

export interface PositionedEvent extends JobEventView {
  /** Give it as `after` to go on: behind this event, or behind the commit before where it is not its last. */
  readonly position: number;
}

/** A client of one server. It holds no connection and needs no closing. */
export function createClient({
  url,
  token,
  fetch: ownFetch = fetch,
  clock = systemClock,
  random = systemRandom,
}: ClientOptions): Client {
  const http = new Http({ url, token, fetch: ownFetch, clock, random });
  const parts = { http, clock, random };
  return {
    jobs: createJobs(parts),
    signals: createSignals(parts),
    approvals: createApprovals(http),
    deadLetters: createDeadLetters(http),
    schedules: createSchedules(http),
    files: createFiles(http),
    blueprints: blueprintMethods(http),
    workers: workerMethods(http),
    events: async function* events({ after = 0, signal } = {}) {
      const path = '/api/v1/events';
      let position = after;
      for await (const { id, data } of followEvents({ ...parts, path, after, signal })) {
        if (id !== undefined) position = Number(id);
        // The server's own event, of the type that it documents.
        yield { ...(JSON.parse(data) as JobEventView), position };
      }
    },
    health: () => answers(http, '/_public/health'),
    ready: () => answers(http, '/_public/ready'),
  };
}

function blueprintMethods(http: Http): Client['blueprints'] {
  return {
    async list() {
      const path = '/api/v1/blueprints';
      return (await http.json<BlueprintsAnswer>({ method: 'GET', path })).blueprints;
    },
    get: (name, { version } = {}) =>
      http.json({ method: 'GET', path: blueprintPath(name), query: { version } }),
    graph: (name, { format, version } = {}) =>
      http.text({
        method: 'GET',
        path: `${blueprintPath(name)}/graph`,
        query: { format, version },
      }),
  };
}

function workerMethods(http: Http): Client['workers'] {
  return {
    async list() {
      return (await http.json<WorkersAnswer>({ method: 'GET', path: '/api/v1/workers' })).workers;
    },
    drain: (id) => http.json({ method: 'POST', path: drainPath(id) }),
    cancelDrain: (id) => http.json({ method: 'POST', path: `${drainPath(id)}/cancel` }),
  };
}

function drainPath(worker: string): string {
  return `/api/v1/workers/${encodeURIComponent(worker)}/drain`;
}

function blueprintPath(name: string): string {
  return `/api/v1/blueprints/${encodeURIComponent(name)}`;
}

async function answers(http: Http, path: string): Promise<boolean> {
  try {
    await http.text({ method: 'GET', path, retry: 'never' });
    return true;
  } catch (error) {
    if (error instanceof CapatazError) return false;
    throw error;
  }
}
