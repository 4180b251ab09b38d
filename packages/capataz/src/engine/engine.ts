import type { FileCleaner } from '../files/cleaner.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Log } from '../std/log.ts';
import type { Store } from '../store/contract.ts';
import { announce } from './announce.ts';
import { booksOf, dispatchParts, fileCleaner, relayOf, removeFiles } from './assembly.ts';
import { type BlackoutGate, noBlackouts } from './blackout-gate.ts';
import { Caretaker } from './caretaker.ts';
import { Circuits } from './circuits.ts';
import type { Committer } from './committer.ts';
import { DeadLetters } from './dead-letters.ts';
import { Decider } from './decider.ts';
import type { Deference } from './deference.ts';
import { Executor } from './executor.ts';
import { Jobs } from './jobs.ts';
import { Live } from './live.ts';
import type { Lobby } from './lobby.ts';
import { Neighbours } from './neighbours.ts';
import type { EngineOptions } from './options.ts';
import type { EnginePorts } from './ports.ts';
import { Registry } from './registry.ts';
import type { Relay } from './relay.ts';
import type { OnForgotten } from './retention.ts';
import { defaultSettings } from './settings.ts';
import { Signals } from './signals.ts';
import { Timekeeper } from './timekeeper.ts';
import { defaultTimeoutMonitor, TimeoutMonitor } from './timeout-monitor.ts';
import { WhyReader } from './why.ts';
import { Workers } from './workers.ts';

export type { EngineOptions } from './options.ts';

/** Grace for workers whose silence ended while no instance was alive: the longest usual heartbeat. */
const graceMs = 15_000;

/** Deadlines that another instance has set are its own, and looked after here should it die. */
const othersDeadlinesMs = 1_000;

/**
 * Small parts with one job each around one store. What they share is the committer: every change
 * goes through it, and every effect follows from what it tells.
 */
export class Engine implements EnginePorts {
  readonly blueprints: Registry;
  readonly events: Live;
  readonly jobs: Jobs;
  readonly signals: Signals;
  readonly deadLetters: DeadLetters;
  readonly #relay: Relay | null;
  readonly #log: Log;
  readonly timeoutMonitor: TimeoutMonitor;
  readonly workers: Workers;
  /** Of the workers that are there. */
  readonly circuits: Circuits;
  readonly #store: Store;
  readonly #lobby: Lobby;
  readonly #executor: Executor;
  readonly #decider: Decider;
  readonly #timekeeper: Timekeeper;
  readonly #caretaker: Caretaker;
  readonly #committer: Committer;
  readonly #cleaner: FileCleaner | null;
  readonly #neighbours: Neighbours;
  readonly #deference: Deference | null;
  readonly #gate: BlackoutGate;
  #ready = false;

  constructor(options: EngineOptions) {
    const { store } = options;
    const settings = { ...defaultSettings, ...options.settings };
    const registry = new Registry(options.blueprints);
    const dispatch = dispatchParts(options, () => workers);
    const { committer, deference } = dispatch;
    const books = booksOf(options);
    const { maxTransitions } = settings;
    const shared = { ...options, ...dispatch, settings, registry, maxTransitions, books };
    const circuits = new Circuits({
      ...shared,
      options: options.circuits ?? {},
      isPresent: (worker) => workers.isPresent(worker),
      serve: (worker) => committer.serve(worker),
    });
    const executor: Executor = new Executor({
      ...shared,
      onProgress: (jobId, progress) => live.onProgress(jobId, progress),
      onProgressEnd: (jobId, attempt) => live.onProgressEnd(jobId, attempt),
    });
    const offerLease = (): ReturnType<Executor['offerLease']> => executor.offerLease();
    const { liveForMs = () => Number.POSITIVE_INFINITY } = options;
    const { blackouts = noBlackouts } = options;
    const decider = new Decider({ ...shared, blackouts, offerLease, liveForMs });
    const live: Live = new Live(store, books);
    const workers: Workers = new Workers({
      ...shared,
      circuits,
      committer,
      decider,
      onProgress: (jobId, progress) => live.onProgress(jobId, progress),
      onSilenceSet: (afterMs) => timekeeper.wakeIn(afterMs),
    });
    const timekeeper: Timekeeper = new Timekeeper({
      ...shared,
      decider,
      onLeases: (leases) => executor.onLeases(leases),
      onSilence: (worker) => workers.onSilence(worker),
      onLate: () => workers.onLate(),
    });
    const relay = relayOf({ ...shared, sink: options.sink, relay: options.relay });
    for (const part of [circuits, workers, executor, timekeeper, live, options.observer, relay])
      committer.onCommitted((committed) => part?.onCommitted(committed));
    this.#relay = relay;
    this.#log = options.log;
    this.timeoutMonitor = new TimeoutMonitor({
      ...shared,
      decider,
      mayHaveBegun: (attempt) => workers.mayHaveBegun(attempt),
      options: { ...defaultTimeoutMonitor, ...options.timeoutMonitor },
    });
    committer.onCommitted((committed) => announce(committed, options.log));
    this.blueprints = registry;
    this.events = live;
    this.workers = workers;
    this.circuits = circuits;
    this.jobs = new Jobs({
      ...shared,
      committer,
      decider,
      executor,
      why: new WhyReader({ store, registry, blackouts, workers: () => workers.list() }),
      progress: (jobId) => live.progress(jobId),
    });
    this.signals = new Signals({ store, registry, decider, committer });
    this.deadLetters = new DeadLetters(store, () => relay?.call());
    this.#neighbours = new Neighbours({
      ...options,
      onWorkers: (ids) => workers.refresh(ids),
      onCommits: async () => {
        timekeeper.wakeIn(othersDeadlinesMs);
        await Promise.all([workers.recount(), committer.followQueue(), live.catchUp()]);
      },
    });
    this.#deference = deference;
    this.#gate = dispatch.gate;
    this.#store = store;
    this.#committer = committer;
    this.#lobby = dispatch.lobby;
    this.#executor = executor;
    this.#decider = decider;
    this.#timekeeper = timekeeper;
    const cleaner = fileCleaner(options);
    if (cleaner !== null) committer.onCommitted((committed) => removeFiles(committed, cleaner));
    this.#cleaner = cleaner;
    const onForgotten: OnForgotten = async (jobIds) => {
      cleaner?.onForgotten(jobIds);
      await options.onForgotten?.(jobIds);
    };
    this.#caretaker = new Caretaker({ ...shared, committer, decider, executor, onForgotten });
  }

  get ready(): boolean {
    return this.#ready;
  }

  get healthy(): boolean {
    return this.#committer.isHealthy;
  }

  /** Jobs found in limbo since the start: expected to stay zero. */
  get violations(): number {
    return this.#caretaker.violations;
  }

  /**
   * Takes up the work where it was left.
   * @throws CapatazError BLUEPRINT_CHANGED where a version has another graph than at first.
   */
  async start({
    allowChangedGraphs = false,
  }: {
    readonly allowChangedGraphs?: boolean;
  } = {}): Promise<void> {
    await this.#offerBlueprints(allowChangedGraphs);
    await this.#cleaner?.start();
    await this.#store.takeOver(graceMs);
    this.#executor.start(this.#decider);
    // Before anything is read, so that nothing falls between what is read and what is told.
    this.#neighbours.start();
    await this.workers.start();
    this.#lobby.queued(await this.#store.queuedClasses());
    this.#timekeeper.start();
    this.#caretaker.start();
    this.#relay?.start();
    this.timeoutMonitor.start();
    this.#ready = true;
    await this.#executor.sweep();
  }

  /** Ends polls, waits for handlers at most `drainMs`, and leaves everything else to the store. */
  async stop({ drainMs }: { readonly drainMs: number }): Promise<void> {
    this.#ready = false;
    this.workers.stop();
    this.#gate.stop();
    this.#deference?.stop();
    const alone = this.#neighbours.stop();
    this.#caretaker.stop();
    this.#committer.stop();
    await this.#executor.stop(drainMs);
    await alone;
    await this.#timekeeper.stop();
    await this.#relay?.stop({ drainMs });
    await this.timeoutMonitor.stop();
    this.circuits.stop();
    await this.#cleaner?.stop();
  }

  async #offerBlueprints(allowChangedGraphs: boolean): Promise<void> {
    for (const { name, version, graph } of this.blueprints.list()) {
      const recorded = await this.#store.offerBlueprint({ name, version, graph });
      if (recorded === graph) continue;
      if (allowChangedGraphs) {
        const text =
          'the graph of a blueprint has changed under the same version; only dev allows it';
        this.#log.warn(text, { blueprint: name, version });
        continue;
      }
      throw new CapatazError(
        'BLUEPRINT_CHANGED',
        `blueprint "${name}" version ${version} has another graph than when it was first registered; running jobs rely on the old one, so raise the version`,
        { blueprint: name, version },
      );
    }
  }
}

export function createEngine(options: EngineOptions): Engine {
  return new Engine(options);
}
