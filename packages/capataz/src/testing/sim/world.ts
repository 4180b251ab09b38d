import { createEngine, type Engine } from '../../engine/engine.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { delay } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import type { Store } from '../../store/contract.ts';
import { MemoryData, openMemoryStore } from '../../store/memory/index.ts';
import { createWorker, type Handler, PermanentError, TransientError } from '../../worker/index.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { type HandlerMoods, simBlueprints } from './blueprints.ts';
import type { Dice } from './dice.ts';
import { faultyStore, noStoreFaults, type StoreFaults } from './faulty-store.ts';
import { calmNetwork, type NetworkFaults, simTransport } from './network.ts';
import { SimProcess } from './process.ts';
import { Watch } from './watch.ts';

/** How bad the world is. Everything is zero once the calm begins. */
export interface Weather {
  readonly store: StoreFaults;
  readonly network: NetworkFaults;
  /** Share of handler runs, of engine and worker, that fail, hang or die. */
  readonly fails: number;
  readonly hangs: number;
  readonly poison: number;
}

export const calm: Weather = {
  store: noStoreFaults,
  network: calmNetwork,
  fails: 0,
  hangs: 0,
  poison: 0,
};

export interface WorkerPlan {
  readonly id: string;
  readonly skills: readonly string[];
  readonly concurrency: number;
}

/** One engine at a time on one store, workers, and a network between them, all under one dice. */
export class World {
  readonly clock = new VirtualClock();
  readonly dice: Dice;
  readonly watch = new Watch();
  /** The store without faults, for looking. */
  readonly truth: Store;
  weather: Weather = calm;
  /** What happened, a line each: the same for the same seed. */
  readonly trace: string[] = [];
  /** Handler runs of workers, counted outside the product, by job and step. */
  readonly effects = new Map<string, number>();
  readonly #data = new MemoryData();
  #server: { readonly engine: Engine; readonly process: SimProcess } | null = null;
  readonly #workers = new Map<string, SimProcess>();
  #boots = 0;

  constructor(dice: Dice) {
    this.dice = dice;
    this.truth = openMemoryStore(this.#data, { clock: this.clock });
  }

  note(event: string): void {
    this.trace.push(`${this.clock.steady().toString().padStart(8)} ${event}`);
  }

  get engine(): Engine | null {
    return this.#server?.engine.ready ? this.#server.engine : null;
  }

  get serverUp(): boolean {
    return this.#server !== null;
  }

  startServer(): void {
    if (this.#server !== null) return;
    this.#boots += 1;
    const process = new SimProcess(`server-${this.#boots}`, this.clock);
    const dice = this.dice.fork();
    const store = faultyStore({
      store: openMemoryStore(this.#data, { clock: this.clock }),
      process,
      clock: process.clock,
      dice,
      faults: () => this.weather.store,
      watch: this.watch,
      onCrash: () => this.killServer('at a commit'),
    });
    const engine = createEngine({
      store,
      blueprints: simBlueprints(this.#moods(process, dice)),
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

  startWorker(plan: WorkerPlan): void {
    if (this.#workers.has(plan.id)) return;
    const process = new SimProcess(plan.id, this.clock);
    this.#workers.set(plan.id, process);
    const dice = this.dice.fork();
    const transport = simTransport({
      engine: () => this.#server,
      worker: plan.id,
      process,
      dice: dice.fork(),
      faults: () => this.weather.network,
      onAccepted: (attempt) => {
        if (!this.watch.ended.has(attempt))
          this.watch.violations.push(
            `the report of attempt ${attempt} was accepted before it was stored`,
          );
      },
    });
    const handler = this.#handler(process, dice);
    const worker = createWorker({
      url: 'http://simulated',
      id: plan.id,
      skills: Object.fromEntries(plan.skills.map((skill) => [skill, handler])),
      concurrency: plan.concurrency,
      clock: process.clock,
      random: dice.fork(),
      transport,
    });
    this.note(`${plan.id} starts`);
    void worker.start();
  }

  killWorker(id: string, why: string): void {
    const process = this.#workers.get(id);
    if (process === undefined) return;
    this.note(`${id} dies: ${why}`);
    process.kill();
    this.#workers.delete(id);
    const server = this.#server;
    if (server === null) return;
    // The kernel closes the sockets of a dead process, and the server sees it.
    this.clock.after(this.dice.between(0, 20), () => {
      if (server.process.alive && server.engine.ready) server.engine.workers.connectionDropped(id);
    });
  }

  get workersUp(): readonly string[] {
    return [...this.#workers.keys()];
  }

  /** Starts a job as a client would: again and again under the same key until it is accepted. */
  async createJob(key: string, blueprint: string, number: number): Promise<string> {
    for (;;) {
      const server = this.#server;
      if (server?.engine.ready) {
        const id = await this.#tryCreate(server.engine, server.process, key, blueprint, number);
        if (id !== null) return id;
      }
      await delay(this.clock, this.dice.between(50, 1_000));
    }
  }

  async #tryCreate(
    engine: Engine,
    process: SimProcess,
    key: string,
    blueprint: string,
    number: number,
  ): Promise<string | null> {
    const request = {
      blueprint,
      client: 'sim',
      input: { number },
      idempotency: { key, bodyHash: key },
    };
    const created = process.answer(engine.jobs.create([request])).catch(() => []);
    const answers = await Promise.race([created, process.death.then(() => [])]);
    const [answer] = answers;
    if (answer === undefined || answer instanceof CapatazError) return null;
    if ((await this.truth.job(answer.id)) === null) {
      this.watch.violations.push(`job ${answer.id} was accepted before it was stored`);
    }
    // The client may lose the answer too; it then asks again.
    return this.dice.chance(this.weather.network.loseAnswer) ? null : answer.id;
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

  #handler(process: SimProcess, dice: Dice): Handler {
    return async (task) => {
      const { weather } = this;
      const effect = `${task.params.job} ${task.params.step}`;
      this.effects.set(effect, (this.effects.get(effect) ?? 0) + 1);
      if (task.skill === 'poison' && dice.chance(weather.poison)) {
        this.killWorker(process.name, `poisoned by ${task.attempt}`);
      }
      await delay(process.clock, dice.between(0, 4_000));
      if (dice.chance(weather.hangs)) await delay(process.clock, 3_600_000, task.signal);
      if (dice.chance(weather.fails)) throw new TransientError('a bad mood');
      if (dice.chance(weather.fails / 10)) throw new PermanentError('a very bad mood');
      return { [`step${task.params.step}`]: task.attempt };
    };
  }
}
