import { hostname } from 'node:os';
import { assert } from '../std/assert.ts';
import { type Clock, systemClock } from '../std/clock.ts';
import { type Duration, durationMs } from '../std/duration.ts';
import type { JsonValue } from '../std/json.ts';
import { type Log, silentLog } from '../std/log.ts';
import { type Random, systemRandom } from '../std/random.ts';
import { WorkerFiles } from './files.ts';
import { httpTransport } from './http-transport.ts';
import type { Handler } from './task.ts';
import type { Transport } from './transport.ts';

export interface WorkerOptions {
  /** Where the server listens, `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Sent as X-Worker-Token. Default none, which only a server in open mode accepts. */
  readonly token?: string;
  /**
   * Letters, digits, `_` and `-`. It must outlive restarts, since what a worker held is judged by
   * it, and no two living processes may share it: the later one takes the former's tasks away.
   * Default `<hostname>-<name>`.
   */
  readonly id?: string;
  /** Tells several workers of one host apart in the default id. Default `worker`. */
  readonly name?: string;
  /** The handler of each skill. */
  readonly skills: Readonly<Record<string, Handler>>;
  /** Handlers that run at once. Default 10. */
  readonly concurrency?: number;
  /**
   * Tasks held at most, as a multiple of `concurrency`, 1 to 4. Default 4: further tasks lie ready
   * when one ends. 1 leaves them with the server, which is better where tasks take long.
   */
  readonly prefetch?: number;
  /** Skills that are warm, which the default strategy prefers. Default none. */
  readonly hotSkills?: readonly string[];
  readonly offer?: WorkerOffer;
  /** Between two signs of life; three missed ones and the worker counts as lost. Default `3s`. */
  readonly heartbeat?: Duration;
  /** How long `stop` lets running handlers go on before it hands their tasks back. Default `30s`. */
  readonly drain?: Duration;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Default: HTTP to `url`. */
  readonly transport?: Transport;
  /** Default: silence. */
  readonly log?: Log;
}

/** What the worker has, for the requirements of tasks. */
export interface WorkerOffer {
  readonly devices?: readonly {
    readonly type: string;
    readonly model?: string;
    readonly id?: string;
    readonly properties?: Readonly<Record<string, JsonValue>>;
  }[];
  /** Numbers are met by at least, lists by overlap, others when equal. */
  readonly properties?: Readonly<Record<string, JsonValue>>;
  readonly artifacts?: readonly { readonly name: string; readonly version?: string }[];
  /** Program → version. */
  readonly software?: Readonly<Record<string, string>>;
  /** Further members of `capabilities.extra`. */
  readonly extra?: Readonly<Record<string, JsonValue>>;
  readonly costPerSkill?: Readonly<Record<string, number>>;
}

/** Options with every default filled in. */
export interface WorkerSettings {
  readonly id: string;
  readonly skills: ReadonlyMap<string, Handler>;
  readonly concurrency: number;
  /** Tasks held at most, running ones and unanswered results included. */
  readonly capacity: number;
  readonly hotSkills: readonly string[];
  readonly offer: WorkerOffer;
  readonly heartbeatMs: number;
  readonly drainMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  readonly files: WorkerFiles;
  readonly log: Log;
}

const largestPrefetch = 4;

/** @throws RangeError or TypeError naming the option that is wrong. */
export function workerSettings(options: WorkerOptions): WorkerSettings {
  const { concurrency = 10, prefetch = largestPrefetch } = options;
  const id = options.id ?? defaultWorkerId(options.name ?? 'worker');
  const skills = new Map(Object.entries(options.skills));
  checkOptions({ id, skills, concurrency, prefetch });
  for (const name of options.hotSkills ?? []) {
    if (!skills.has(name)) throw new RangeError(`hotSkills names "${name}", which is no skill`);
  }
  const { url, token, clock = systemClock, random = systemRandom } = options;
  const peer = { url, workerId: id, ...(token === undefined ? {} : { token }) };
  return {
    id,
    skills,
    concurrency,
    capacity: Math.floor(concurrency * prefetch),
    hotSkills: options.hotSkills ?? [],
    offer: options.offer ?? {},
    heartbeatMs: positiveMs('heartbeat', options.heartbeat ?? '3s'),
    drainMs: durationMs(options.drain ?? '30s'),
    clock,
    random,
    transport: options.transport ?? httpTransport(peer),
    files: new WorkerFiles({ ...peer, clock, random }),
    log: options.log ?? silentLog,
  };
}

function checkOptions({
  id,
  skills,
  concurrency,
  prefetch,
}: {
  id: string;
  skills: ReadonlyMap<string, Handler>;
  concurrency: number;
  prefetch: number;
}): void {
  if (!/^[a-zA-Z0-9_-]{1,200}$/.test(id)) {
    throw new RangeError(`id "${id}" must be 1 to 200 letters, digits, "_" or "-"`);
  }
  if (skills.size === 0) throw new RangeError('skills must name at least one skill');
  for (const [name, handler] of skills) {
    if (typeof handler !== 'function') throw new TypeError(`skill "${name}" is no function`);
  }
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new RangeError(`concurrency must be a whole number from 1, not ${concurrency}`);
  }
  if (!(prefetch >= 1 && prefetch <= largestPrefetch)) {
    throw new RangeError(`prefetch must be from 1 to ${largestPrefetch}, not ${prefetch}`);
  }
}

function positiveMs(name: string, text: Duration): number {
  const ms = durationMs(text);
  if (ms <= 0) throw new RangeError(`${name} must be longer than ${text}`);
  return ms;
}

/** Host names have dots, ids have none. */
export function defaultWorkerId(name: string): string {
  const id = `${hostname()}-${name}`.replace(/[^a-zA-Z0-9_-]/g, '-').slice(0, 200);
  assert(id.length > 0, 'a default id is never empty');
  return id;
}
