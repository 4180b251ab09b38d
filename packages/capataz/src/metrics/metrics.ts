import { Registry } from 'prom-client';
import type { Breaker } from '../breaker/breaker.ts';
import type { WorkerStatus } from '../core/status.ts';
import type { Committed } from '../engine/committer.ts';
import type { EngineObserver } from '../engine/observer.ts';
import type { SlotOutcome } from '../protocol/schedules-api.ts';
import type { Clock } from '../std/clock.ts';
import type { OutboxEvent, OutboxVerdict } from '../store/contract.ts';
import { Exemplars, openMetricsType } from './exemplars.ts';
import { counterNames, createInstruments, type Instruments } from './instruments.ts';
import { JobMeter } from './job-meter.ts';
import { LoopLag } from './loop-lag.ts';
import { Stays } from './stays.ts';
import { StoredGauges, type StoredSources } from './stored-gauges.ts';

/** Who has breakers: `Breakers`, say. */
export interface BreakerSource {
  list(): readonly Pick<Breaker, 'name' | 'stateNumber'>[];
}

/** Who has bus subscriptions. */
export interface SubscriptionSource {
  readonly names: readonly string[];
  /** 0: it is down. */
  liveForMs(name: string): number | null;
}

export interface MetricsOptions {
  /** Asked for at the first scrape, when the engine that is observed is there. */
  readonly sources: () => StoredSources;
  readonly clock: Clock;
  readonly breakers?: readonly BreakerSource[];
  /** Whether books of ended jobs are moved out of the store. Default false. */
  readonly movesHistory?: boolean;
  /** Default: there are none. */
  readonly subscriptions?: SubscriptionSource;
}

/**
 * The metrics of one instance, as Prometheus reads them. Counters and histograms are of this process
 * and add up over instances; gauges say what the shared store holds and are the same on each, so
 * that rules take their maximum. Breakers are of this process (H-ee).
 */
export class Metrics implements EngineObserver {
  readonly #registry = new Registry();
  readonly #instruments: Instruments = createInstruments(this.#registry);
  readonly #options: MetricsOptions;
  readonly #exemplars: Exemplars;
  readonly #jobs: JobMeter;
  readonly #workers: Stays<WorkerStatus>;
  readonly #lag: LoopLag;
  #gauges: StoredGauges | null = null;

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#exemplars = new Exemplars(options.clock);
    this.#jobs = new JobMeter(this.#instruments, options.clock, this.#exemplars);
    this.#workers = new Stays(options.clock, (state, seconds) =>
      this.#instruments.workerStateDuration.observe({ state }, seconds),
    );
    this.#lag = new LoopLag(options.clock);
  }

  /** Names of all metrics, without the suffixes of a histogram. */
  get names(): readonly string[] {
    return this.#registry.getMetricsAsArray().map(({ name }) => name);
  }

  /**
   * OpenMetrics, with exemplars, for who accepts it, else the text format.
   * @throws CapatazError STORE_UNAVAILABLE
   */
  async scrape(accept = ''): Promise<{ readonly text: string; readonly contentType: string }> {
    const plain = await this.#text();
    return takesOpenMetrics(accept)
      ? { text: this.#exemplars.openMetrics(plain), contentType: openMetricsType }
      : { text: plain, contentType: this.#registry.contentType };
  }

  async #text(): Promise<string> {
    const { sources, clock, movesHistory = false } = this.#options;
    this.#gauges ??= new StoredGauges(this.#instruments, { ...sources(), movesHistory }, clock);
    await this.#gauges.refresh();
    this.#showBreakers();
    this.#showSubscriptions();
    this.#instruments.loopLag.set(this.#lag.seconds);
    return this.#registry.metrics();
  }

  /** Measures the loop's lag from now on, with an alarm each second; all else needs no start. */
  start(): void {
    this.#lag.start();
  }

  stop(): void {
    this.#lag.stop();
  }

  onCommitted(committed: Committed): void {
    this.#jobs.onCommitted(committed);
  }

  onVerdict(event: OutboxEvent, verdict: OutboxVerdict['type'], tookMs: number): void {
    const name = verdict === 'published' ? 'eventsPublished' : 'eventsFailed';
    this.#instruments[name].inc();
    this.#exemplars.counted(counterNames[name], event.correlationId);
    this.#instruments.eventPublishDuration.observe(tookMs / 1_000);
  }

  onSlots(schedule: string, outcome: SlotOutcome, slots: number): void {
    this.#instruments.scheduleSlots.inc({ schedule, outcome }, slots);
  }

  onWorkerCame(worker: string): void {
    this.#instruments.workersCreated.inc();
    this.#workers.begin(worker, 'CREATING');
  }

  onWorkerStatus(worker: string, status: WorkerStatus): void {
    if (status !== 'TERMINATED') return this.#workers.enter(worker, status);
    this.#instruments.workersTerminated.inc();
    this.#workers.end(worker);
  }

  #showSubscriptions(): void {
    const { subscriptions } = this.#options;
    for (const name of subscriptions?.names ?? []) {
      const isLive = subscriptions?.liveForMs(name) !== 0;
      this.#instruments.subscriptionLive.set({ subscription: name }, Number(isLive));
    }
  }

  /** Breakers that are gone leave no series. */
  #showBreakers(): void {
    const { circuitBreakerState } = this.#instruments;
    circuitBreakerState.reset();
    for (const source of this.#options.breakers ?? []) {
      for (const { name, stateNumber } of source.list()) {
        circuitBreakerState.set({ worker_id: name }, stateNumber);
      }
    }
  }
}

/** Who gives it the weight 0 does not want it. */
function takesOpenMetrics(accept: string): boolean {
  const [range] = accept.split(',').filter((one) => one.includes('application/openmetrics-text'));
  return range !== undefined && !/;\s*q=0(?:\.0*)?\s*$/.test(range);
}
