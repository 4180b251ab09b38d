import type { Blueprint } from '../../core/blueprint.ts';
import { createEngine, type Engine } from '../../engine/engine.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { delay } from '../../std/clock.ts';
import type { JsonValue } from '../../std/json.ts';
import { silentLog } from '../../std/log.ts';
import type { Store } from '../../store/contract.ts';
import { MemoryData, openMemoryStore } from '../../store/memory/index.ts';
import {
  createWorker,
  type Handler,
  type HandlerValue,
  type Transport,
  type WorkerResult,
} from '../../worker/index.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { SimBus } from './bus.ts';
import { listen } from './bus-listener.ts';
import { BusWatch } from './bus-watch.ts';
import type { Dice } from './dice.ts';
import { calm, type Weather } from './faults.ts';
import { faultyStore, type StoreFault, type StoreWatch } from './faulty-store.ts';
import type { Moods, Work, WorkOrder } from './moods.ts';
import { type RequestKind, simTransport } from './network.ts';
import { SimProcess } from './process.ts';
import { Registrations } from './registrations.ts';
import { RxonWorker } from './rxon-worker.ts';
import { type ServerBus, serverBus, simRelay } from './server-bus.ts';
import { type Server, Servers } from './servers.ts';
import { simMonitor } from './stuck-checker.ts';
import { checkInboxes } from './wait-checkers.ts';
import { Watch } from './watch.ts';

export interface WorkerPlan {
  readonly id: string;
  readonly skills: readonly string[];
  /** `sdk`: our own worker. `rxon`: one like the stock Python SDK's. */
  readonly kind: 'sdk' | 'rxon';
  readonly concurrency: number;
  /** How far its wall clock is from the server's, in ms. */
  readonly skewMs: number;
}

export interface JobOrder {
  /** Its client asks under this key until it is told that the job was accepted. */
  readonly key: string;
  readonly blueprint: string;
  readonly input: JsonValue;
}

export interface WorldOptions {
  readonly dice: Dice;
  /** What the server holds; made anew at each of its starts. */
  readonly blueprints: (moods: Moods) => readonly Blueprint[];
  readonly work: Work;
  /** Servers that share the store. Default 1. */
  readonly instances?: number;
  /** Decides about each store call instead of the weather: for sweeps. */
  readonly storeFault?: (isWrite: boolean) => StoreFault;
}

/** Engines on one store, workers, and a network between them, all under one dice. */
export class World {
  readonly clock = new VirtualClock();
  readonly watch = new Watch();
  readonly busWatch: BusWatch;
  readonly bus: SimBus;
  weather: Weather = calm;
  /** What happened, a line each: the same for the same seed. */
  readonly trace: string[] = [];
  readonly #options: WorldOptions;
  readonly #dice: Dice;
  readonly #data = new MemoryData();
  #truth: Store;
  /** What each server has had of the bus. */
  readonly serverBuses: ServerBus[] = [];
  /** How often each worker was started, and how often it registered. */
  readonly registrations = new Registrations();
  /** Attempts whose work has begun, counted outside the product. */
  readonly #begun = new Set<string>();
  readonly #servers: Servers;
  readonly #isShared: boolean;
  readonly #workers = new Map<string, SimProcess>();
  #boots = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#dice = options.dice;
    const { instances = 1 } = options;
    this.#servers = new Servers(instances);
    this.#isShared = instances > 1;
    this.#truth = this.#openStore();
    this.busWatch = new BusWatch({
      clock: this.clock,
      maxRetries: simRelay.maxRetries,
      relays: instances,
    });
    this.bus = new SimBus({
      clock: this.clock,
      dice: this.#dice.fork(),
      faults: () => this.weather.bus,
      onArrived: (event) => this.busWatch.onArrived(event),
    });
  }

  note(event: string): void {
    this.trace.push(`${this.clock.steady().toString().padStart(8)} ${event}`);
  }

  /** The store without faults, for looking. Its time is the server's, or a look would move that. */
  get truth(): Store {
    return this.#truth;
  }

  /** What was seen to be wrong while it happened. */
  get violations(): string[] {
    const breakers = this.serverBuses.flatMap(({ breakerWatch }) => breakerWatch.violations);
    return [...this.watch.violations, ...this.busWatch.violations, ...breakers];
  }

  /** An engine that serves at the moment, if one does. */
  get engine(): Engine | null {
    return this.#servers.next(serves)?.engine ?? null;
  }

  #openStore(): Store {
    return openMemoryStore(this.#data, { clock: this.clock, shared: this.#isShared });
  }

  /** All that are missing. */
  startServers(): void {
    for (const place of this.#servers.missing) this.#startServer(place);
  }

  #startServer(place: number): void {
    this.#boots += 1;
    const process = new SimProcess(`server-${this.#boots}`, this.clock);
    const dice = this.#dice.fork();
    const die = (why: string): void => this.#killServer(server, why);
    const moods = this.#moods(process, dice, die);
    const bus = serverBus(this.bus, process, this.busWatch);
    this.serverBuses.push(bus);
    const engine = createEngine({
      store: this.#storeOf(process, dice, () => die('at a commit')),
      blueprints: this.#options.blueprints(moods),
      clock: process.clock,
      random: dice.fork(),
      instance: process.name,
      client: (name) => ({ name, plan: null, params: {} }),
      log: silentLog,
      sink: bus.sink,
      relay: simRelay,
      timeoutMonitor: simMonitor,
    });
    const server: Server = { engine, process, bus };
    this.#servers.put(place, server);
    if (!this.#isShared) {
      this.#truth = this.#openStore();
      this.busWatch.onRestart();
    }
    this.note(`${process.name} starts`);
    engine.start().then(
      () => this.#listen(server, moods),
      (error: unknown) => die(`start failed: ${String(error)}`),
    );
  }

  /** The last to start, as in a composed server. */
  #listen({ engine, process, bus }: Server, moods: Moods): void {
    listen({
      engine,
      process,
      moods,
      link: bus.link,
      onHandled: ({ id }) => this.busWatch.onHandled(id, process.name),
      onAnswered: (jobId) => this.busWatch.onAnswered(jobId),
    });
  }

  /** The bus of the first server that is up. */
  get serverBus(): ServerBus | null {
    return this.#servers.up[0]?.bus ?? null;
  }

  #storeOf(process: SimProcess, dice: Dice, onCrash: () => void): Store {
    const { storeFault } = this.#options;
    return faultyStore({
      store: this.#openStore(),
      process,
      dice,
      faults: () => this.weather.store,
      watch: this.#storeWatch(),
      onCrash,
      ...(storeFault === undefined ? {} : { decide: storeFault }),
    });
  }

  #storeWatch(): StoreWatch {
    const { watch, busWatch } = this;
    return {
      onCommitted: (work, outcome) => {
        watch.onCommitted(work, outcome);
        busWatch.onCommitted(work, outcome);
        watch.violations.push(...checkInboxes(this.#data, work));
      },
      onSettled: (verdicts) => busWatch.onSettled(verdicts),
      onRedriven: (ids) => busWatch.onRedriven(ids),
      onResolved: (ids) => busWatch.onResolved(ids),
    };
  }

  /** One of those that are up. */
  killServer(why: string): void {
    const server = this.#servers.next();
    if (server !== null) this.#killServer(server, why);
  }

  #killServer(server: Server, why: string): void {
    if (!this.#servers.remove(server)) return;
    this.note(`${server.process.name} dies: ${why}`);
    server.process.kill();
  }

  /** SIGSTOP and, after a while, SIGCONT, of one that is up. */
  freezeServer(forMs: number): void {
    const process = this.#servers.next()?.process;
    if (process === undefined) return;
    this.note(`${process.name} freezes for ${forMs} ms`);
    process.freeze(this.clock, forMs);
  }

  freezeWorker(id: string, forMs: number): void {
    this.note(`${id} freezes for ${forMs} ms`);
    this.#workers.get(id)?.freeze(this.clock, forMs);
  }

  startWorker(plan: WorkerPlan): void {
    if (this.#workers.has(plan.id)) return;
    const process = new SimProcess(plan.id, this.clock, plan.skewMs);
    this.#workers.set(plan.id, process);
    this.note(`${plan.id} starts`);
    this.registrations.start(plan.id);
    const dice = this.#dice.fork();
    const transport = this.#transportOf(process, dice.fork());
    const moods = this.#moods(process, dice, (why) => this.killWorker(plan.id, why));
    const work = (order: WorkOrder) => this.#work(order, moods);
    if (plan.kind === 'rxon') {
      const { id, skills } = plan;
      new RxonWorker({ id, skills, process, transport, work }).start();
      return;
    }
    const handler: Handler = (task) => {
      const { attempt, skill, params, signal } = task;
      return work({ attempt, skill, params, signal, task });
    };
    const worker = createWorker({
      url: 'http://simulated',
      id: plan.id,
      skills: Object.fromEntries(plan.skills.map((skill) => [skill, handler])),
      concurrency: plan.concurrency,
      clock: process.clock,
      random: dice.fork(),
      transport,
    });
    void worker.start();
  }

  #transportOf(process: SimProcess, dice: Dice): Transport {
    return simTransport({
      engine: this.#routeOf(dice),
      onRegistered: () => this.registrations.count(process.name),
      worker: process.name,
      process,
      dice,
      faults: () => this.weather.network,
      onAccepted: (attempt) => {
        if (this.watch.reported.has(attempt)) return;
        this.#violate(`the report of attempt ${attempt} was accepted before it was stored`);
      },
    });
  }

  /**
   * Some workers keep to one server, some send each kind of request to one of its own, as connections that
   * stay open do behind a balancer, and the requests of others go to all in turn.
   */
  #routeOf(dice: Dice): (kind: RequestKind) => Server | null {
    const way = dice.pick(['in turn', 'to one', 'by kind'] as const);
    if (way === 'in turn') return () => this.#servers.next();
    const { instances = 1 } = this.#options;
    const places = new Map<RequestKind | 'all', number>();
    return (kind) => {
      const key = way === 'to one' ? 'all' : kind;
      const place = places.get(key) ?? dice.between(0, instances - 1);
      places.set(key, place);
      return this.#servers.at(place);
    };
  }

  async #work(order: WorkOrder, moods: Moods): Promise<HandlerValue | WorkerResult> {
    const { attempt } = order;
    if (this.#begun.has(attempt)) this.#violate(`attempt ${attempt} was begun twice`);
    this.#begun.add(attempt);
    return this.#options.work(order, moods);
  }

  killWorker(id: string, why: string): void {
    const process = this.#workers.get(id);
    if (process === undefined) return;
    this.note(`${id} dies: ${why}`);
    process.kill();
    this.#workers.delete(id);
    // The kernel closes the sockets of a dead process, and the server sees it.
    this.clock.after(this.#dice.between(0, 20), () => this.engine?.workers.connectionDropped(id));
  }

  /** Starts a job as a client would: again and again under the same key until it is accepted. */
  async createJob(order: JobOrder): Promise<string> {
    for (;;) {
      const server = this.#servers.next(serves);
      const id = server === null ? null : await this.#tryCreate(server, order);
      if (id !== null) return id;
      await delay(this.clock, this.#dice.between(50, 1_000));
    }
  }

  async #tryCreate({ engine, process }: Server, { key, ...job }: JobOrder): Promise<string | null> {
    const request = { ...job, client: 'sim', idempotency: { key, bodyHash: key } };
    const created = process.answer(engine.jobs.create([request])).catch(() => []);
    const [answer] = await Promise.race([created, process.death.then(() => [])]);
    if (answer === undefined || answer instanceof CapatazError) return null;
    if ((await this.truth.job(answer.id)) === null) {
      this.#violate(`job ${answer.id} was accepted before it was stored`);
    }
    // The client may lose the answer too; it then asks again.
    return this.#dice.chance(this.weather.network.loseAnswer) ? null : answer.id;
  }

  /** Getters, since the weather changes while the handlers stay. */
  #moods(process: SimProcess, dice: Dice, die: (why: string) => void): Moods {
    const weather = (): Weather => this.weather;
    return {
      dice,
      die,
      wait: (ms, signal) => delay(process.clock, ms, signal),
      get throws() {
        return weather().fails;
      },
      get hangs() {
        return weather().hangs;
      },
      get dies() {
        return weather().poison;
      },
    };
  }

  #violate(problem: string): void {
    this.watch.violations.push(problem);
  }
}

function serves({ engine, process }: Server): boolean {
  return engine.ready && !process.frozen;
}
