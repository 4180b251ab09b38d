import type { Job } from '../../core/job.ts';
import type { SentSignal } from '../../engine/ports.ts';
import type { Dice } from './dice.ts';
import { isForgotten } from './wait-blueprints.ts';
import type { World } from './world.ts';

/** Who decides and who sends: scripted people, whose letters may be sent twice or to the wrong wait. */
export class People {
  readonly #world: World;
  /** Job → ids of the ticks that the server said it took. */
  readonly told = new Map<string, Set<string>>();
  readonly #stopped = new Set<string>();
  /** Jobs that got their letters. */
  readonly #written = new Set<string>();
  #count = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Something is said to some of the jobs; in the end (`firm`) to all of them what ends their waits. */
  async speak(dice: Dice, firm: boolean): Promise<void> {
    const jobs = await this.#world.truth.jobs({ status: [...speakable], limit: 1_000 });
    for (const job of jobs) {
      if (isForgotten(job) || (!firm && !dice.chance(0.3))) continue;
      if (job.wait?.type === 'approval') this.#decide(job, dice, firm);
      else if (job.blueprint === 'listener') this.#send(job, dice, firm);
      if (job.state === 'settle') await this.#writeInBursts(job, dice);
    }
  }

  #decide(job: Job, dice: Dice, firm: boolean): void {
    const { engine } = this.#world;
    if (engine === null || job.wait?.type !== 'approval') return;
    const isWrong = !firm && dice.chance(0.2);
    const decision = dice.chance(0.7) ? 'approved' : 'rejected';
    const one = {
      decision,
      wait: job.wait.id,
      hash: isWrong ? 'another' : job.wait.hash,
      revision: null,
      actor: isWrong ? 'mallory' : 'ana',
      comment: null,
      data: null,
    };
    this.#world.note(`${one.actor}: ${decision} ${job.id}`);
    for (let times = dice.between(1, 2); times > 0; times -= 1) {
      engine.signals.decide(job.id, one).catch(() => undefined);
    }
  }

  #send(job: Job, dice: Dice, firm: boolean): void {
    const { engine } = this.#world;
    if (engine === null) return;
    this.#count += 1;
    const name = firm || dice.chance(0.2) ? 'stop' : 'tick';
    const id = `${name}-${this.#count}`;
    const to = dice.chance(0.3) ? { key: `listener-${job.id}` } : { jobId: job.id };
    const signal: SentSignal = { client: 'sim', to, name, id, data: id, actor: 'sender' };
    // What follows a stop may find the job ended, also where both wait in its inbox.
    const wasStopped = this.#stopped.has(job.id);
    if (name === 'stop') this.#stopped.add(job.id);
    const copies = Array.from({ length: dice.between(1, 2) }, () => signal);
    if (name === 'tick') this.#tickBeside(signal, dice);
    this.#world.note(`sender: ${id} to ${job.id}`);
    engine.signals
      .send(copies)
      .then((answers) => {
        const isTaken = answers.some(({ type }) => type === 'taken');
        if (isTaken && name === 'tick' && !wasStopped) this.#tell(job.id, id);
      })
      .catch(() => undefined);
  }

  /** At the same time two more in one batch, of which one may lose a race on which the other builds. */
  #tickBeside(signal: SentSignal, dice: Dice): void {
    const batch = ['b', 'c'].map((mark) => {
      const id = `${signal.id}${mark}`;
      return { ...signal, id, data: id };
    });
    const { clock, engine, weather } = this.#world;
    const afterMs = dice.between(0, weather.store.latencyMs);
    clock.after(afterMs, () => void engine?.signals.send(batch).catch(() => undefined));
  }

  /**
   * Letters two by two, about when the job begins to listen: some are kept for it, some come in while
   * it looks at those. None may be overlooked (`checkInboxes`).
   */
  async #writeInBursts(job: Job, dice: Dice): Promise<void> {
    if (this.#written.has(job.id)) return;
    this.#written.add(job.id);
    const { truth, weather, clock } = this.#world;
    const [causes] = await truth.causes({ id: job.id });
    const wakesAt = causes?.timers.find(({ name }) => name === 'wake')?.at;
    if (wakesAt === undefined) return;
    const inMs = wakesAt - (await truth.now());
    for (let bursts = 0; bursts < 5; bursts += 1) {
      const firstMs = inMs + dice.between(0, 5 * weather.store.latencyMs);
      const secondMs = firstMs + dice.between(0, weather.store.latencyMs);
      for (const afterMs of [firstMs, secondMs]) clock.after(afterMs, () => this.#write(job));
    }
  }

  #write({ id: jobId }: Job): void {
    this.#count += 1;
    const id = `letter-${this.#count}`;
    const to = { key: `listener-${jobId}` };
    const letter: SentSignal = { client: 'sim', to, name: 'tick', id, data: id, actor: 'sender' };
    this.#world.engine?.signals.send([{ ...letter, keepForMs }]).catch(() => undefined);
  }

  #tell(jobId: string, id: string): void {
    const ids = this.told.get(jobId) ?? new Set<string>();
    this.told.set(jobId, ids.add(id));
  }
}

/** Longer than any step of the clock. */
const keepForMs = 30 * 86_400_000;

const speakable = [
  'pending',
  'waiting_for_human',
  'waiting_for_event',
  'waiting_for_timer',
] as const;
