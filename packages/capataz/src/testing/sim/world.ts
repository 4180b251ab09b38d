import { createEngine, type Engine } from '../../engine/engine.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { delay } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import type { Store } from '../../store/contract.ts';
import { MemoryData, openMemoryStore } from '../../store/memory/index.ts';
import { createWorker, type Handler, PermanentError, TransientError } from '../../worker/index.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { simBlueprints } from './blueprints.ts';
import type { Dice } from './dice.ts';
import { calm, type Weather } from './faults.ts';
import { faultyStore, type StoreFault } from './faulty-store.ts';
import type { HandlerMoods } from './moods.ts';
import { simTransport } from './network.ts';
import { SimProcess } from './process.ts';
import { RxonWorker } from './rxon-worker.ts';
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

export interface WorldOptions {
  readonly dice: Dice;
  /** Seeds of random blueprints that the server holds, by name. */
  readonly grammar: Readonly<Record<string, number>>;
  /** Decides about each store call instead of the weather: for sweeps. */
  readonly storeFault?: (isCommit: boolean) => StoreFault;
}

/** One engine at a time on one store, workers, and a network between them, all under one dice. */
export class World {
  readonly clock = new VirtualClock();
  readonly watch = new Watch();
  /** The store without faults, for looking. */
  readonly truth: Store;
  weather: Weather = calm;
  /** What happened, a line each: the same for the same seed. */
  readonly trace: string[] = [];
  readonly #options: WorldOptions;
  readonly #dice: Dice;
  readonly #data = new MemoryData();
  /** Attempts whose work has begun, counted outside the product. */
  readonly #begun = new Set<string>();
  #server: { readonly engine: Engine; readonly process: SimProcess } | null = null;
  readonly #workers = new Map<string, SimProcess>();
  #boots = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#dice = options.dice;
    this.truth = openMemoryStore(this.#data, { clock: this.clock });
  }

  note(event: string): void {
    this.trace.push(`${this.clock.steady().toString().padStart(8)} ${event}`);
  }

  /** The engine that serves at the moment, if one does. */
  get engine(): Engine | null {
    const server = this.#server;
    return server?.engine.ready && !server.process.frozen ? server.engine : null;
  }

  get serverUp(): boolean {
    return this.#server !== null;
  }

  get workersUp(): readonly string[] {
    return [...this.#workers.keys()];
  }

  startServer(): void {
    if (this.#server !== null) return;
    this.#boots += 1;
    const process = new SimProcess(`server-${this.#boots}`, this.clock);
    const dice = this.#dice.fork();
    const store = faultyStore({
      store: openMemoryStore(this.#data, { clock: this.clock }),
      process,
      dice,
      faults: () => this.weather.store,
      watch: this.watch,
      onCrash: () => this.killServer('at a commit'),
      ...(this.#options.storeFault === undefined ? {} : { decide: this.#options.storeFault }),
    });
    const engine = createEngine({
      store,
      blueprints: simBlueprints(this.#moods(process, dice), this.#options.grammar),
      clock: process.clock,
      random: dice.fork(),
      instance: process.name,
      client: (name) => ({ name, plan: null, params: {} }),
      log: silentLog,
    });
    this.#server = { engine, process };
    this.note(`${process.name} starts`);
    engine.start().catch((error: unknown) => {
      if (this.#server?.process === process) this.killServer(`start failed: ${String(error)}`);
    });
  }

  killServer(why: string): void {
    if (this.#server === null) return;
    this.note(`${this.#server.process.name} dies: ${why}`);
    this.#server.process.kill();
    this.#server = null;
  }

  /** SIGSTOP and, after a while, SIGCONT. */
  freezeServer(forMs: number): void {
    this.note(`the server freezes for ${forMs} ms`);
    this.#server?.process.freeze(this.clock, forMs);
  }

  freezeWorker(id: string, forMs: number): void {
    this.note(`${id} freezes for ${forMs} ms`);
    this.#workers.get(id)?.freeze(this.clock, forMs);
  }

  startWorker(plan: WorkerPlan): void {
    if (this.#workers.has(plan.id)) return;
    const process = new SimProcess(plan.id, this.clock, plan.skewMs);
    this.#workers.set(plan.id, process);
    const dice = this.#dice.fork();
    const transport = simTransport({
      engine: () => this.#server,
      worker: plan.id,
      process,
      dice: dice.fork(),
      faults: () => this.weather.network,
      onAccepted: (attempt) => {
        if (!this.watch.reported.has(attempt)) {
          this.#violate(`the report of attempt ${attempt} was accepted before it was stored`);
        }
      },
    });
    this.note(`${plan.id} starts`);
    const work = (attempt: string, params: WorkParams, signal?: AbortSignal): Promise<object> =>
      this.#work(process, dice, attempt, params, signal);
    if (plan.kind === 'rxon') {
      const { id, skills } = plan;
      new RxonWorker({
        id,
        skills,
        process,
        transport,
        work: (task) => work(task.task_id, { ...task.params, skill: task.type }),
      }).start();
      return;
    }
    const handler: Handler = ({ attempt, params, skill, signal }) =>
      work(attempt, { ...params, skill }, signal);
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
  async createJob(key: string, blueprint: string, number: number): Promise<string> {
    for (;;) {
      if (this.engine !== null) {
        const id = await this.#tryCreate(key, blueprint, number);
        if (id !== null) return id;
      }
      await delay(this.clock, this.#dice.between(50, 1_000));
    }
  }

  async #tryCreate(key: string, blueprint: string, number: number): Promise<string | null> {
    const server = this.#server;
    if (server === null) return null;
    const { engine, process } = server;
    const request = {
      blueprint,
      client: 'sim',
      input: { number },
      idempotency: { key, bodyHash: key },
    };
    const created = process.answer(engine.jobs.create([request])).catch(() => []);
    const [answer] = await Promise.race([created, process.death.then(() => [])]);
    if (answer === undefined || answer instanceof CapatazError) return null;
    if ((await this.truth.job(answer.id)) === null) {
      this.#violate(`job ${answer.id} was accepted before it was stored`);
    }
    // The client may lose the answer too; it then asks again.
    return this.#dice.chance(this.weather.network.loseAnswer) ? null : answer.id;
  }

  /** Getters, since the weather changes while the blueprints stay. */
  #moods(process: SimProcess, dice: Dice): HandlerMoods {
    const weather = (): Weather => this.weather;
    return {
      dice,
      wait: (ms) => delay(process.clock, ms),
      get throws() {
        return weather().fails;
      },
      get hangs() {
        return weather().hangs;
      },
    };
  }

  async #work(
    process: SimProcess,
    dice: Dice,
    attempt: string,
    params: WorkParams,
    signal?: AbortSignal,
  ): Promise<object> {
    const { weather } = this;
    if (this.#begun.has(attempt)) this.#violate(`attempt ${attempt} was begun twice`);
    this.#begun.add(attempt);
    if (params.skill === 'poison' && dice.chance(weather.poison)) {
      this.killWorker(process.name, `poisoned by ${attempt}`);
    }
    await delay(process.clock, dice.between(0, 4_000));
    if (dice.chance(weather.hangs)) await delay(process.clock, 600_000, signal);
    if (dice.chance(weather.fails)) throw new TransientError('a bad mood');
    if (dice.chance(weather.fails / 10)) throw new PermanentError('a very bad mood');
    return { [`step${params.step}`]: attempt };
  }

  #violate(problem: string): void {
    this.watch.violations.push(problem);
  }
}

type WorkParams = Readonly<Record<string, unknown>>;
