import { limbo } from '../core/limbo.ts';
import type { CancelTimer, Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Archive, Store } from '../store/contract.ts';
import { aboutJob } from './about-job.ts';
import { Archivist } from './archivist.ts';
import type { Committer } from './committer.ts';
import type { Decider } from './decider.ts';
import type { Executor } from './executor.ts';
import type { Registry } from './registry.ts';
import { type OnForgotten, Retention } from './retention.ts';
import type { EngineSettings } from './settings.ts';
import { StoreTrouble } from './store-trouble.ts';

export interface CaretakerParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly decider: Decider;
  readonly executor: Executor;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: EngineSettings;
  /** Where books of ended jobs go. Default: they stay in the store. */
  readonly archive?: Archive | 'off';
  /** Jobs that were forgotten; files of theirs may go. Default: nothing is done. */
  readonly onForgotten?: OnForgotten;
}

const checkSlice = 500;
const orphansAtOnce = 100;
const sweepEveryMs = 5_000;
const tryEveryMs = 1_000;
/** A safety net: every queued task announces itself, so this finds something only after a fault. */
const queueEveryMs = 30_000;
const forgetEveryMs = 60_000;
const moveBooksEveryMs = 10_000;

interface Chore {
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<void>;
}

/** What has to be looked after now and then: leases, orphaned and old jobs, the proof of no limbo. */
export class Caretaker {
  readonly #parts: CaretakerParts;
  readonly #cancels = new Map<string, CancelTimer>();
  readonly #chores: readonly Chore[];
  readonly #retention: Retention;
  /** Null where books stay in the store. */
  readonly #archivist: Archivist | null;
  #checkedUpTo = '';
  #violations = 0;

  constructor(parts: CaretakerParts) {
    this.#parts = parts;
    const { settings, executor, committer } = parts;
    const retention = new Retention(parts);
    this.#retention = retention;
    const { archive } = parts;
    this.#archivist = archive === undefined ? null : new Archivist({ ...parts, archive });
    this.#chores = [
      { name: 'renew leases', everyMs: settings.leaseMs / 3, run: () => executor.renew() },
      { name: 'claim what is runnable', everyMs: sweepEveryMs, run: () => executor.sweep() },
      { name: 'offer blueprints', everyMs: settings.orphanAfterMs / 10, run: () => this.#offer() },
      { name: 'look into the queue', everyMs: queueEveryMs, run: () => committer.handOutBacklog() },
      { name: 'check for limbo', everyMs: settings.checkEveryMs, run: () => this.#check() },
      { name: 'forget ended jobs', everyMs: forgetEveryMs, run: () => retention.sweep() },
      // An embedded one is tried again by whoever met its trouble.
      ...(parts.store.capabilities.shared
        ? [{ name: 'try the store', everyMs: tryEveryMs, run: () => committer.tryStore() }]
        : []),
      ...archivingChores(this.#archivist),
    ];
  }

  /** Jobs found without a cause of progress since the start: expected to stay zero. */
  get violations(): number {
    return this.#violations;
  }

  start(): void {
    for (const chore of this.#chores) {
      const begins = `could not ${chore.name}; trying again`;
      const ends = `can ${chore.name} again`;
      this.#schedule(chore, new StoreTrouble(this.#parts.log, { begins, ends }));
    }
  }

  stop(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
    this.#retention.stop();
    this.#archivist?.stop();
  }

  #schedule(chore: Chore, trouble: StoreTrouble): void {
    const cancel = this.#parts.clock.after(chore.everyMs, () => {
      chore
        .run()
        .then(
          () => trouble.isOver(),
          (error: unknown) => trouble.met(error),
        )
        .finally(() => {
          if (this.#cancels.has(chore.name)) this.#schedule(chore, trouble);
        });
    });
    this.#cancels.set(chore.name, cancel);
  }

  /** Says which versions this instance holds, and parks jobs whose version nobody has offered for long. */
  async #offer(): Promise<void> {
    const { store, registry, decider, settings, log } = this.#parts;
    for (const { name, version, graph } of registry.list())
      await store.offerBlueprint({ name, version, graph });
    const ids = await store.orphans(registry.list(), settings.orphanAfterMs, orphansAtOnce);
    for (const id of ids) {
      const about = await aboutJob(store, id);
      log.warn('nobody offers the blueprint of this job; it is parked', about);
    }
    await decider.all(
      ids.map((jobId) => ({ jobId, signal: () => ({ type: 'orphaned' as const }) })),
    );
  }

  async #check(): Promise<void> {
    const slice = await this.#parts.store.causes({ after: this.#checkedUpTo, limit: checkSlice });
    this.#checkedUpTo = slice.length < checkSlice ? '' : (slice.at(-1)?.job.id ?? '');
    for (const causes of slice) {
      const problem = limbo(causes);
      if (problem === null) continue;
      this.#violations += 1;
      const { id: job, correlationId: correlation } = causes.job;
      this.#parts.log.error('job in limbo', { job, correlation, problem });
    }
  }
}

function archivingChores(archivist: Archivist | null): Chore[] {
  if (archivist === null) return [];
  const name = 'move books of ended jobs';
  return [{ name, everyMs: moveBooksEveryMs, run: () => archivist.sweep() }];
}
