import type { BusEvent } from '../../bus/contract.ts';
import type { Change, Emitted } from '../../core/change.ts';
import { isFinal } from '../../core/status.ts';
import type { Clock } from '../../std/clock.ts';
import type { OutboxVerdict, Work, WorkOutcome } from '../../store/contract.ts';

/** What is known of one event from outside the product. */
export interface EventRecord extends Emitted {
  readonly jobId: string;
  /** `dead` until an operator redrives or resolves it. */
  place: 'outbox' | 'published' | 'dead' | 'resolved';
  /** Once a dead letter, others may have overtaken it. */
  wasDead: boolean;
  /** How often it reached the bus. */
  arrivals: number;
  isHandled: boolean;
  /** Tries that no verdict was stored for yet. */
  untold: number;
  /** Since it was emitted, or redriven. */
  failures: number;
  /** Until then it rests after a failure, in ms of the steady clock. */
  restsUntil: number;
}

interface BusWatchParts {
  readonly clock: Clock;
  readonly maxRetries: number;
  /**
   * How many relays publish. Of several, one that froze may come back with a verdict on what another has
   * published meanwhile: who counts what is not asked then, only that nothing is lost or out of order.
   */
  readonly relays: number;
}

/** Tries whose verdicts a run may lose in a row, by crashes and a failing store. */
const mostUntold = 12;

/**
 * Follows each event from the commit that emits it to the listener that handles it, and keeps its own
 * books of where it is. It shares no code with the relay, the stores and the bus.
 */
export class BusWatch {
  readonly violations: string[] = [];
  readonly events = new Map<string, EventRecord>();
  /** Job → when its end was stored, and when the answer to its question was, in ms of the steady clock. */
  readonly endedAt = new Map<string, number>();
  readonly answeredAt = new Map<string, number>();
  readonly #parts: BusWatchParts;
  readonly #ofJob = new Map<string, EventRecord[]>();
  /** What each life of the listener has handled. */
  readonly #handledBy = new Map<string, Set<string>>();

  constructor(parts: BusWatchParts) {
    this.#parts = parts;
  }

  /** In the order in which they were emitted. */
  of(jobId: string): readonly EventRecord[] {
    return this.#ofJob.get(jobId) ?? [];
  }

  count(isMeant: (record: EventRecord) => boolean): number {
    return [...this.events.values()].filter(isMeant).length;
  }

  onCommitted(work: Work, outcome: WorkOutcome): void {
    for (const [index, { change }] of (work.changes ?? []).entries()) {
      if (outcome.changes[index]?.type === 'done') this.#onChange(change);
    }
  }

  #onChange({ job, also }: Change): void {
    for (const emitted of also?.emits ?? []) {
      const record: EventRecord = {
        ...emitted,
        jobId: job.id,
        place: 'outbox',
        wasDead: false,
        arrivals: 0,
        isHandled: false,
        untold: 0,
        failures: 0,
        restsUntil: 0,
      };
      this.events.set(emitted.id, record);
      this.#ofJob.set(job.id, [...this.of(job.id), record]);
    }
    for (const child of also?.children ?? []) this.#onChange(child);
    if (isFinal(job.status)) this.endedAt.set(job.id, this.#parts.clock.steady());
  }

  /** A store that is opened anew takes up the wall clock, so that a pause may end sooner. */
  onRestart(): void {
    for (const record of this.events.values()) record.restsUntil = 0;
  }

  /** The relay hands it to the bus. */
  onTried(id: string): void {
    const record = this.#known(id, 'was tried');
    if (record === null) return;
    record.untold += 1;
    if (record.untold > mostUntold * this.#parts.relays)
      this.#violate(record, 'is tried again and again, uncounted');
    const restMs = record.restsUntil - this.#parts.clock.steady();
    // A store counts whole milliseconds.
    if (restMs >= 1 && !this.#isShared)
      this.#violate(record, `was tried ${restMs} ms before its pause was over`);
  }

  /** The try never got there, and is none. */
  onAway(id: string): void {
    const record = this.#known(id, 'was tried');
    if (record !== null) record.untold -= 1;
  }

  /** The bus has it. */
  onArrived(event: BusEvent): void {
    const record = this.#known(event.id, 'was published');
    if (record === null) return;
    record.arrivals += 1;
    const { jobId, name, payload } = record;
    const said = JSON.stringify([jobId, name, payload]);
    if (JSON.stringify([event.job, event.name, event.payload]) !== said)
      this.#violate(record, 'was published as another event');
    if (record.arrivals === 1) this.#checkOrder(record);
  }

  /** S-47: what was emitted before has arrived before, but for what became a dead letter. */
  #checkOrder(record: EventRecord): void {
    for (const earlier of this.of(record.jobId)) {
      if (earlier === record) return;
      if (earlier.arrivals === 0 && !earlier.wasDead)
        this.#violate(record, `overtook ${earlier.name} (${earlier.id})`);
    }
  }

  onSettled(verdicts: readonly OutboxVerdict[]): void {
    for (const verdict of verdicts) {
      const record = this.#known(verdict.id, 'was settled');
      if (record !== null) this.#onVerdict(record, verdict);
    }
  }

  #onVerdict(record: EventRecord, verdict: OutboxVerdict): void {
    if (record.place !== 'outbox') {
      if (this.#isShared) return;
      this.#violate(record, `was ${record.place} and became ${verdict.type}`);
    }
    if (record.untold === 0 && !this.#isShared)
      this.#violate(record, `is ${verdict.type}, and was not even tried`);
    record.untold = 0;
    if (verdict.type === 'published') {
      record.place = 'published';
      if (record.arrivals === 0) this.#violate(record, 'is marked, and the bus never had it');
      return;
    }
    record.failures += 1;
    const isLast = record.failures > this.#parts.maxRetries;
    if (isLast !== (verdict.type === 'dead') && !this.#isShared)
      this.#violate(record, `is ${verdict.type} after ${record.failures} tries`);
    if (verdict.type === 'failed') {
      record.restsUntil = this.#parts.clock.steady() + verdict.retryAfterMs;
      return;
    }
    record.place = 'dead';
    record.wasDead = true;
  }

  onRedriven(ids: readonly string[]): void {
    for (const record of this.#fromTheDead(ids, 'redriven')) {
      record.place = 'outbox';
      record.failures = 0;
      record.restsUntil = 0;
    }
  }

  onResolved(ids: readonly string[]): void {
    for (const record of this.#fromTheDead(ids, 'resolved')) record.place = 'resolved';
  }

  #fromTheDead(ids: readonly string[], deed: string): EventRecord[] {
    const records = ids.map((id) => this.#known(id, `was ${deed}`)).filter((one) => one !== null);
    for (const record of records) {
      if (record.place !== 'dead') this.#violate(record, `was ${deed} while ${record.place}`);
    }
    return records;
  }

  /** @param life the process in which the listener runs: it knows what it handled, the next does not */
  onHandled(id: string, life: string): void {
    const record = this.#known(id, 'was handled');
    if (record === null) return;
    const handled = this.#handledBy.get(life) ?? new Set<string>();
    if (handled.has(id)) this.#violate(record, `was handled twice by ${life}`);
    if (record.arrivals === 0) this.#violate(record, 'was handled before the bus had it');
    this.#handledBy.set(life, handled.add(id));
    record.isHandled = true;
  }

  onAnswered(jobId: string): void {
    if (!this.answeredAt.has(jobId)) this.answeredAt.set(jobId, this.#parts.clock.steady());
  }

  get #isShared(): boolean {
    return this.#parts.relays > 1;
  }

  #known(id: string, what: string): EventRecord | null {
    const record = this.events.get(id);
    if (record === undefined) this.violations.push(`event ${id} ${what}, and no commit emitted it`);
    return record ?? null;
  }

  #violate({ id, name, jobId }: EventRecord, problem: string): void {
    this.violations.push(`event ${name} (${id}) of job ${jobId} ${problem}`);
  }
}
