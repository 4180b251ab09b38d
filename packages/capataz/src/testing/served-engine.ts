import { JobSchedules } from '../compose/job-schedules.ts';
import type { Schedules } from '../config/schedules-file.ts';
import type { Blueprint } from '../core/blueprint.ts';
import { createEngine, type Engine } from '../engine/engine.ts';
import type { EnginePorts, WorkersPort } from '../engine/ports.ts';
import type { EventSink } from '../engine/relay.ts';
import type { FilesOptions } from '../files/contract.ts';
import { type BreakerSource, Metrics } from '../metrics/metrics.ts';
import { type AccessEntries, createAccess } from '../server/access.ts';
import { createHttpServer, type HttpServer } from '../server/http-server.ts';
import type { Limits } from '../server/limits.ts';
import { type Log, silentLog } from '../std/log.ts';
import { type Random, systemRandom } from '../std/random.ts';
import type { Store } from '../store/contract.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface ServedEngineOptions {
  readonly blueprints: readonly Blueprint[];
  /** Default: open mode. */
  readonly access?: AccessEntries;
  readonly limits?: Partial<Limits>;
  readonly log?: Log;
  readonly clock?: VirtualClock;
  readonly random?: Random;
  /** Default: jobs have no files. */
  readonly files?: FilesOptions;
  /** Default true: the engine is ready when this resolves. */
  readonly start?: boolean;
  /** Where events go. Default: they stay in the outbox. */
  readonly sink?: EventSink;
  /** Default: there are none. */
  readonly schedules?: Schedules;
  readonly breakers?: readonly BreakerSource[];
  readonly publicUrl?: string;
  /** Default: the metrics are for everybody. */
  readonly metricsToken?: string;
}

const openMode: AccessEntries = { clients: null, workers: null, commonWorkerToken: null };

/** A real engine on a memory store, in virtual time, behind real HTTP on a free loopback port. */
export class ServedEngine implements AsyncDisposable {
  readonly url: string;
  readonly engine: Engine;
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly server: HttpServer;
  /** What was asked of the workers port, as it happens. */
  readonly calls: CallRecorder;

  readonly #jobSchedules: JobSchedules;

  constructor(
    jobSchedules: JobSchedules,
    parts: Pick<ServedEngine, 'url' | 'engine' | 'store' | 'clock' | 'server' | 'calls'>,
  ) {
    this.#jobSchedules = jobSchedules;
    this.url = parts.url;
    this.engine = parts.engine;
    this.store = parts.store;
    this.clock = parts.clock;
    this.server = parts.server;
    this.calls = parts.calls;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.server.close({ drainMs: 0 });
    // What still runs is cut at once: the drain's end is an alarm of the virtual clock.
    await this.clock.advance(0);
    await closed;
    await this.#jobSchedules.stop();
    await this.engine.stop({ drainMs: 0 });
    await this.store.close();
  }
}

export async function serveEngine(options: ServedEngineOptions): Promise<ServedEngine> {
  const { clock = new VirtualClock(), random = systemRandom, log = silentLog } = options;
  const store = createMemoryStore({ clock });
  const metrics = new Metrics({
    clock,
    sources: () => ({ store, workers: engine.workers }),
    breakers: [...(options.breakers ?? []), { list: () => engine.circuits.list() }],
  });
  const engine: Engine = createEngine({
    store,
    blueprints: options.blueprints,
    clock,
    random,
    instance: 'test',
    client: (name) => ({ name, plan: null, params: {} }),
    log,
    observer: metrics,
    ...(options.sink === undefined ? {} : { sink: options.sink }),
    ...(options.files === undefined ? {} : { files: options.files }),
  });
  const jobSchedules = new JobSchedules(options.schedules ?? { schedules: [], blackouts: {} }, {
    ...{ store, clock, log, jobs: engine.jobs, file: 'schedules.toml', client: 'dev' },
    meter: (...told) => metrics.onSlots(...told),
  });
  const calls = new CallRecorder();
  if (options.start !== false) await engine.start();
  jobSchedules.start();
  const server = createHttpServer({
    engine: recorded(engine, calls),
    access: createAccess(options.access ?? openMode),
    clock,
    log,
    version: '0.0.0-test',
    publicUrl: options.publicUrl ?? null,
    schedules: jobSchedules,
    metrics: {
      scrape: (accept) => metrics.scrape(accept),
      token: options.metricsToken ?? null,
    },
    ...(options.files === undefined ? {} : { files: options.files }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return new ServedEngine(jobSchedules, { url, engine, store, clock, server, calls });
}

/** `pollEnded`: a poll came back, with tasks or without. */
type WorkersCall = keyof WorkersPort | 'pollEnded';

/** Remembers calls by name, and lets a test await one instead of a duration. */
export class CallRecorder {
  readonly #calls: { readonly name: WorkersCall; readonly worker: string }[] = [];
  readonly #waiting = new Set<() => void>();

  note(name: WorkersCall, worker: string): void {
    this.#calls.push({ name, worker });
    for (const look of this.#waiting) look();
  }

  count(name: WorkersCall, worker?: string): number {
    return this.#calls.filter(
      (call) => call.name === name && (worker === undefined || call.worker === worker),
    ).length;
  }

  /** Resolves when the call has been made so many times. */
  reached(name: WorkersCall, times = 1): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.count(name) < times) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}

function recorded(engine: Engine, calls: CallRecorder): EnginePorts {
  const { workers } = engine;
  const noted =
    <A extends unknown[], R>(name: WorkersCall, method: (...args: A) => R) =>
    (...args: A): R => {
      const result = method.apply(workers, args);
      calls.note(name, String(args[0]));
      return result;
    };
  return {
    jobs: engine.jobs,
    signals: engine.signals,
    deadLetters: engine.deadLetters,
    events: engine.events,
    blueprints: engine.blueprints,
    get ready() {
      return engine.ready;
    },
    get healthy() {
      return engine.healthy;
    },
    workers: {
      register: (worker) => workers.register(worker),
      list: () => workers.list(),
      isBatch: (worker) => workers.isBatch(worker),
      heartbeat: noted('heartbeat', workers.heartbeat),
      poll: (worker, options) => {
        const tasks = workers.poll(worker, options).finally(() => calls.note('pollEnded', worker));
        calls.note('poll', worker);
        return tasks;
      },
      delivered: noted('delivered', workers.delivered),
      undelivered: noted('undelivered', workers.undelivered),
      report: noted('report', workers.report),
      progress: noted('progress', workers.progress),
      connectionDropped: noted('connectionDropped', workers.connectionDropped),
      drain: noted('drain', workers.drain),
      cancelDrain: noted('cancelDrain', workers.cancelDrain),
      holds: noted('holds', workers.holds),
    },
  };
}
