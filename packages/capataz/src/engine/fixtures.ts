/** An engine with everything around it that its tests need, in virtual time. */
import { type DispatchOptions, dispatch } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import type { StoredEntry } from '../core/history.ts';
import type { Job, Task } from '../core/job.ts';
import type { WorkerRecord } from '../core/worker.ts';
import { CapatazError } from '../protocol/errors.ts';
import { assert } from '../std/assert.ts';
import type { CancelTimer } from '../std/clock.ts';
import { type Log, silentLog } from '../std/log.ts';
import type { Store, Work, WorkOutcome } from '../store/contract.ts';
import { MemoryData, openMemoryStore } from '../store/memory/index.ts';
import { Dice } from '../testing/sim/dice.ts';
import { SimProcess } from '../testing/sim/process.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';
import type {
  CreateJob,
  Heartbeat,
  PollOptions,
  ReportAnswer,
  ReportOutcome,
  TaskReport,
  WorkerState,
} from './ports.ts';

type EngineParts =
  | 'settings'
  | 'blackouts'
  | 'onForgotten'
  | 'sink'
  | 'timeoutMonitor'
  | 'circuits'
  | 'liveForMs'
  | 'observer';

export interface WorldOptions extends Partial<Pick<EngineOptions, EngineParts>> {
  readonly blueprints: readonly Blueprint[];
  /** Stands between engine and store, for a store that lies. */
  readonly wrapStore?: (store: Store) => Store;
  /** The store serves several instances. Default false. */
  readonly shared?: boolean;
  /** How far the wall clock of its process is from the store's. Default 0. */
  readonly skewMs?: number;
}

export async function startWorld(options: WorldOptions): Promise<World> {
  const world = new World(options);
  await world.boot();
  return world;
}

/** Two instances on one store, and the time of both. */
export async function startTwo(
  options: WorldOptions,
  other: Partial<WorldOptions> = {},
): Promise<readonly [World, World]> {
  const one = await startWorld({ ...options, shared: true });
  const two = await one.beside({ ...options, shared: true, ...other });
  await two.settle();
  return [one, two];
}

type Verb = keyof Store;

/** One engine at a time on one store. `commits` and `errors` go on over restarts. */
export class World {
  readonly clock: VirtualClock;
  readonly random: Dice;
  /** The store as it is, for looking. */
  readonly truth: Store;
  /** Every piece of work that was committed, with its outcome. */
  readonly commits: { readonly work: Work; readonly outcome: WorkOutcome }[] = [];
  /** What the engine logged as an error. */
  readonly errors: string[] = [];
  readonly warnings: string[] = [];
  /** Every call of the store is refused while it is. */
  isStoreDown = false;
  readonly #options: WorldOptions;
  readonly #data: MemoryData;
  readonly #name: string;
  readonly #stops = new Map<Verb, Promise<void>>();
  readonly #answerStops = new Map<Verb, Promise<void>>();
  #server: { readonly engine: Engine; readonly process: SimProcess } | null = null;
  #boots = 0;

  /** @param beside another instance on the same store */
  constructor(options: WorldOptions, beside?: World) {
    this.clock = beside?.clock ?? new VirtualClock();
    this.random = new Dice(beside === undefined ? 1 : 2);
    this.#data = beside === undefined ? new MemoryData() : beside.#data;
    this.#name = beside === undefined ? 'server' : 'other';
    this.truth = openMemoryStore(this.#data, { clock: this.clock });
    this.#options = options;
  }

  /** The process of the engine that is up, to be frozen. */
  get process(): SimProcess {
    assert(this.#server !== null, 'the server is down');
    return this.#server.process;
  }

  get isUp(): boolean {
    return this.#server !== null;
  }

  get engine(): Engine {
    assert(this.#server !== null, 'the server is down');
    return this.#server.engine;
  }

  /** Another instance on the same store, or what comes after this one. */
  async beside(options: WorldOptions): Promise<World> {
    const world = new World(options, this);
    await world.boot();
    return world;
  }

  /** A new process on the same data. */
  async boot(
    blueprints = this.#options.blueprints,
    start: Parameters<Engine['start']>[0] = {},
  ): Promise<void> {
    this.#boots += 1;
    const { wrapStore, shared = false, skewMs = 0, ...parts } = this.#options;
    const process = new SimProcess(`${this.#name}-${this.#boots}`, this.clock, skewMs);
    const opened = openMemoryStore(this.#data, { clock: this.clock, shared });
    const store = this.#watched(wrapStore?.(opened) ?? opened, process);
    const engine = createEngine({
      ...parts,
      store,
      blueprints,
      clock: process.clock,
      random: this.random,
      instance: process.name,
      client: (name) => ({ name, plan: null, params: {} }),
      log: this.#log(),
    });
    this.#server = { engine, process };
    await engine.start(start);
  }

  /** kill -9. */
  kill(): void {
    this.#server?.process.kill();
    this.#server = null;
  }

  /** kill -9, then a new engine on what it left. */
  async restart(blueprints?: readonly Blueprint[]): Promise<void> {
    this.kill();
    await this.boot(blueprints);
  }

  /** A stop point: calls of the verb wait before the store until it is released. */
  stopAt(verb: Verb): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stops.set(verb, promise);
    return () => {
      this.#stops.delete(verb);
      resolve();
    };
  }

  /** A stop point: the next call of the verb is done, but its answer waits until it is released. */
  stopAnswerOf(verb: Verb): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answerStops.set(verb, promise);
    return resolve;
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Until everything that can go on without time has gone on. */
  settle(): Promise<void> {
    return this.clock.advance(0);
  }

  async create(name: string, fields: Partial<CreateJob> = {}): Promise<string> {
    const [created] = await this.engine.jobs.create([
      { blueprint: name, client: 'client-1', input: {}, ...fields },
    ]);
    if (created instanceof CapatazError) throw created;
    assert(created !== undefined, 'one request has one answer');
    return created.id;
  }

  async job(id: string): Promise<Job> {
    const job = await this.truth.job(id);
    assert(job !== null, `there is no job ${id}`);
    return job;
  }

  /** Its one open task. */
  async task(jobId: string): Promise<Task> {
    const [task, ...others] = await this.truth.tasks([jobId]);
    assert(task !== undefined && others.length === 0, `job ${jobId} has not one open task`);
    return task;
  }

  history(id: string): Promise<StoredEntry[]> {
    return this.truth.history(id, 0, 10_000);
  }

  /** The entries of one type. */
  async entries(id: string, type: StoredEntry['type']): Promise<StoredEntry[]> {
    return (await this.history(id)).filter((entry) => entry.type === type);
  }

  /** Every status that the job's tasks have had, in order. */
  async taskSteps(id: string): Promise<string> {
    const steps = (await this.history(id)).flatMap(({ taskTo }) => taskTo ?? []);
    return steps.join(' ');
  }

  /** A worker that has registered. */
  async worker(id: string, fields: RegistrationFields = {}): Promise<ScriptedWorker> {
    const worker = new ScriptedWorker(this, registration(id, fields));
    await worker.register();
    return worker;
  }

  async workerState(id: string): Promise<WorkerState | undefined> {
    return (await this.engine.workers.list()).find(({ worker }) => worker.id === id);
  }

  #watched(store: Store, process: SimProcess): Store {
    return new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        if (key === 'subscribe') return heardBy(process, store);
        // Any other function of the store is one of its verbs.
        const verb = key as Verb;
        return (...args: unknown[]) =>
          process.answer(this.#call(verb, args, process, () => value.apply(target, args)));
      },
    });
  }

  async #call(
    verb: Verb,
    args: readonly unknown[],
    process: SimProcess,
    run: () => unknown,
  ): Promise<unknown> {
    // What a process has not sent when it dies is never sent.
    await process.answer(this.#stops.get(verb) ?? Promise.resolve());
    if (this.isStoreDown) throw new CapatazError('STORE_UNAVAILABLE', 'the store is down');
    const answer = await run();
    // What goes into `commit` and comes out of it is known from the contract.
    if (verb === 'commit')
      this.commits.push({ work: args[0] as Work, outcome: answer as WorkOutcome });
    const answerStop = this.#answerStops.get(verb);
    this.#answerStops.delete(verb);
    await answerStop;
    return answer;
  }

  #log(): Log {
    const log: Log = {
      ...silentLog,
      warn: (message) => this.warnings.push(message),
      error: (message, fields) => this.errors.push(`${message} ${JSON.stringify(fields)}`),
      child: () => log,
    };
    return log;
  }
}

/** News reach a process that is there and awake. */
export function heardBy(process: SimProcess, store: Store): Store['subscribe'] {
  return (listener) =>
    store.subscribe((news) => {
      if (process.alive && !process.frozen) listener(news);
    });
}

type Registration = Omit<WorkerRecord, 'incarnation' | 'registeredAt' | 'status'>;
type RegistrationFields = Partial<Omit<Registration, 'offer'>> & {
  readonly offer?: Partial<Registration['offer']>;
};

/** Far beyond any test: silence comes only where a test is about it. */
const noSilenceMs = 365 * 86_400_000;

export function registration(id: string, fields: RegistrationFields): Registration {
  return {
    id,
    type: 'test',
    bootId: `${id}-boot-1`,
    slots: 1,
    batch: false,
    heartbeatMs: noSilenceMs,
    hostname: null,
    ...fields,
    offer: {
      worker: id,
      skills: ['work'],
      hotSkills: [],
      devices: [],
      properties: {},
      artifacts: [],
      software: {},
      extra: {},
      costPerSkill: {},
      ...fields.offer,
    },
  };
}

/** Speaks to whatever engine is up. It does nothing by itself but, once told to, beat. */
export class ScriptedWorker {
  readonly id: string;
  /** Attempts that it says it works on. */
  readonly holding = new Set<string>();
  readonly #world: World;
  #registration: Registration;
  #cancelBeat: CancelTimer = () => undefined;

  constructor(world: World, fields: Registration) {
    this.id = fields.id;
    this.#world = world;
    this.#registration = fields;
  }

  /** The same worker, whose requests now go to another instance. */
  at(world: World): ScriptedWorker {
    return new ScriptedWorker(world, this.#registration);
  }

  register(fields: Partial<Registration> = {}): Promise<WorkerRecord> {
    this.#registration = { ...this.#registration, ...fields };
    return this.#world.engine.workers.register(this.#registration);
  }

  poll(options: Partial<PollOptions> = {}): Promise<readonly Task[]> {
    const tasks = this.#world.engine.workers.poll(this.id, {
      max: 1,
      timeoutMs: 30_000,
      ...options,
    });
    return tasks.then((got) => this.#took(got));
  }

  /** What it is given without waiting. */
  async take(max = 1): Promise<readonly Task[]> {
    const tasks = this.poll({ max, timeoutMs: 0 });
    await this.#world.settle();
    return tasks;
  }

  async takeOne(): Promise<Task> {
    const [task] = await this.take();
    assert(task !== undefined, `worker ${this.id} was given nothing`);
    return task;
  }

  async report(task: Task, report: TaskReport['report'] = {}): Promise<ReportAnswer> {
    const { answers } = await this.reportAll([[task, report]], 0);
    assert(answers[0] !== undefined, 'one report has one answer');
    return answers[0];
  }

  async reportAll(
    reports: readonly (readonly [Task, TaskReport['report']])[],
    want: number,
  ): Promise<ReportOutcome> {
    const items = reports.map(([task, report]) => {
      this.holding.delete(attemptOf(task));
      return { jobId: task.jobId, attempt: attemptOf(task), report };
    });
    const outcome = await this.#world.engine.workers.report(this.id, items, want);
    this.#took(outcome.tasks);
    return outcome;
  }

  async fail(task: Task, code = 'TRANSIENT_ERROR'): Promise<ReportAnswer> {
    return this.report(task, { error: { code, message: 'no luck' } });
  }

  beat(beat: Heartbeat = {}): Promise<readonly string[]> {
    return this.#world.engine.workers.heartbeat(this.id, {
      status: 'idle',
      currentTasks: [...this.holding],
      ...beat,
    });
  }

  /** Beats by itself from now on, as often as it promised. */
  keepBeating(beat: Heartbeat = {}): void {
    this.mute();
    this.#cancelBeat = this.#world.clock.after(this.#registration.heartbeatMs, () => {
      if (this.#world.isUp) this.beat(beat).catch(() => undefined);
      this.keepBeating(beat);
    });
  }

  mute(): void {
    this.#cancelBeat();
  }

  #took(tasks: readonly Task[]): readonly Task[] {
    for (const task of tasks) this.holding.add(attemptOf(task));
    return tasks;
  }
}

export function attemptOf(task: Task): string {
  assert(task.attempt !== null, `task ${task.id} is handed to nobody`);
  return task.attempt.id;
}

/** Hands one task to a worker and ends with its result. Back-offs are exact. */
export function oneTask(
  options: Partial<DispatchOptions<'done' | 'late'>> = {},
  { name = 'one-task', version = 1, skill = 'work' } = {},
): Blueprint {
  return blueprint({
    name,
    version,
    states: {
      ask: {
        start: true,
        to: ['done', 'late'],
        handle: () =>
          dispatch(
            skill,
            {},
            {
              on: { success: 'done', timeout: 'late' },
              retry: { jitter: 0 },
              ...options,
            },
          ),
      },
      late: { end: 'failed' },
      done: { end: true },
    },
  });
}

/**
 * A store some of whose verbs are a test's own. Given as a function they are looked up at each call, and so
 * may come and go.
 */
export function storeWith(store: Store, verbs: Partial<Store> | (() => Partial<Store>)): Store {
  return new Proxy(store, {
    get(target, key) {
      const own = typeof verbs === 'function' ? verbs() : verbs;
      const value: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
