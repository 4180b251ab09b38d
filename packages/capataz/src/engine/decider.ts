import { createHash } from 'node:crypto';
import type { Blueprint } from '../core/blueprint.ts';
import type { Change } from '../core/change.ts';
import { decide } from '../core/decide.ts';
import type { ClientInfo } from '../core/handler.ts';
import type { Job, Task } from '../core/job.ts';
import type { InboxItem, RefusalReason, Signal } from '../core/signal.ts';
import { isFinal } from '../core/status.ts';
import type { DecideContext, LeaseOffer } from '../core/step.ts';
import { CapatazError } from '../protocol/errors.ts';
import { InternalError } from '../std/assert.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import { RateCap } from '../std/rate-cap.ts';
import type { Note, Store } from '../store/contract.ts';
import { stampedJob } from '../store/rules.ts';
import type { HeldAttempts } from './attempts.ts';
import type { BlackoutCalendar } from './blackout-gate.ts';
import { prepareChild } from './children.ts';
import type { Committer } from './committer.ts';
import type { JobCache } from './job-cache.ts';
import type { Registry } from './registry.ts';
import type { Ticket } from './ticket.ts';
import { wakesOf } from './wakes.ts';

/** A signal for one job. `signal` is called with what is read, and again after each lost race. */
export interface Address {
  readonly jobId: string;
  /** The task that the signal is about: by attempt, or by id. */
  readonly about?: { readonly attempt: string } | { readonly taskId: string };
  /** Of a signal that counts once. */
  readonly signalId?: string;
  /** The signal is about what lies in the job's inbox. */
  readonly inbox?: true;
  readonly signal: (task: Task | null, inbox: readonly InboxItem[]) => Signal;
  /** Written to the book when the signal is refused. */
  readonly onRefusal?: (reason: RefusalReason, job: Job, said?: string) => Note['entries'];
}

export type Applied =
  | { readonly type: 'done'; readonly before: Job; readonly job: Job; readonly change: Change }
  | {
      readonly type: 'refused';
      readonly reason: RefusalReason;
      readonly job: Job | null;
      /** What the row of a signal said. */
      readonly said?: string;
    }
  /** The job's blueprint is not held here: another instance, or time, has to deal with it. */
  | { readonly type: 'not_held'; readonly job: Job };

export interface DeciderParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly cache: JobCache;
  readonly held: HeldAttempts;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly maxTransitions: number;
  readonly client: (name: string) => ClientInfo;
  readonly blackouts: Pick<BlackoutCalendar, 'has'>;
  /** See `DecideContext`. */
  readonly liveForMs: (subscription: string) => number | null;
  /** A lease for a handler that may begin at once, if there is room. */
  readonly offerLease: () => LeaseOffer | null;
}

/** A race is lost only to another change of the same job; ten in a row mean something is wrong. */
const maxRounds = 10;
/** Refusals that a job's book takes in. */
const refusalCap = { most: 20, windowMs: 60_000 };
const moreLeftOut = { note: 'further refusals within this minute are left out' };

/** Decisions that need no blueprint: they must work for a job whose version is gone. */
const withoutBlueprint: ReadonlySet<Signal['type']> = new Set([
  'cancel',
  'hold',
  'release',
  'dismiss',
  'orphaned',
  'stranded',
]);

function needsBlueprint(signal: Signal, job: Job): boolean {
  if (signal.type === 'inbox') return !signal.items.some(({ kind }) => kind === 'cancel');
  return !withoutBlueprint.has(signal.type) && !isFinal(job.status);
}

/** What the store refuses for good. */
const refusalOf = {
  seen: 'signal_seen',
  inbox_full: 'too_many_early',
  not_due: 'nothing_due',
} as const;

const nothingFull: ReadonlyMap<string, number | null> = new Map();

interface Pending {
  readonly index: number;
  readonly address: Address;
  /** Something remembered about it was wrong, or refused it: only what the store says counts now. */
  readonly isFresh: boolean;
  /** Keys that the store found full. */
  readonly full: ReadonlyMap<string, number | null>;
}

/** Brings signals to jobs: read, decide, commit, and again where another was faster. */
export class Decider {
  readonly #parts: DeciderParts;
  readonly #refusals: RateCap;

  constructor(parts: DeciderParts) {
    this.#parts = parts;
    this.#refusals = new RateCap(parts.clock, refusalCap);
  }

  /** The first decision about a job that is not stored yet; whoever asks commits it. */
  create(
    job: Job,
    blueprint: Blueprint,
    startDelayMs: number,
    full: ReadonlyMap<string, number | null>,
  ): Change {
    const context = this.#context(job, full);
    const decision = decide(job, { type: 'created', startDelayMs }, blueprint, context);
    if (decision.type === 'change') return decision;
    throw new InternalError(`a new job was refused: ${decision.reason}`);
  }

  async one(address: Address): Promise<Applied> {
    const [applied] = await this.all([address]);
    if (applied === undefined) throw new InternalError('one signal must have one answer');
    return applied;
  }

  /**
   * All signals in one commit, answered in order. `own` is a worker's wish for further tasks, which
   * shares the first commit.
   * @throws CapatazError STORE_UNAVAILABLE; CHANGED_MEANWHILE after too many lost races.
   */
  async all(addresses: readonly Address[], own: Ticket | null = null): Promise<Applied[]> {
    const answers: Applied[] = [];
    let pending: Pending[] = addresses.map((address, index) => ({
      index,
      address,
      isFresh: false,
      full: nothingFull,
    }));
    for (let round = 0; pending.length > 0 || round === 0; round += 1) {
      if (round === maxRounds) {
        throw new CapatazError(
          'CHANGED_MEANWHILE',
          'the job is being changed by many others at once; try again',
        );
      }
      pending = await this.#round(pending, answers, round === 0 ? own : null);
    }
    return answers;
  }

  /** @returns those that must be decided again on what the store says. */
  async #round(
    pending: readonly Pending[],
    answers: Applied[],
    own: Ticket | null,
  ): Promise<Pending[]> {
    const jobs = await this.#readJobs(pending);
    const tasks = await this.#readTasks(pending);
    const inboxes = await this.#readInboxes(pending);
    const seen = await this.#readSeen(pending);
    // Signal ids that this round decides about: a second one waits for the next, and is seen there.
    const taking = new Set<string>();
    const again: Pending[] = [];
    // What this round decided about a job before: decisions of one commit build on each other.
    const ahead = new Map<string, Job>();
    const decided: Decided[] = [];
    const notes: Note[] = [];
    for (const [position, item] of pending.entries()) {
      const { jobId } = item.address;
      const job = ahead.get(jobId) ?? jobs[position] ?? null;
      const task = tasks[position] ?? null;
      const { signalId } = item.address;
      const signal = `${jobId} ${signalId}`;
      if (signalId !== undefined && taking.has(signal)) {
        again.push(item);
        continue;
      }
      taking.add(signal);
      if (seen[position] && job !== null) {
        answers[item.index] = { type: 'refused', reason: 'signal_seen', job };
        continue;
      }
      const answer = this.#decide(item, job, task, inboxes[position] ?? []);
      if ('change' in answer) {
        decided.push({ item, task, ...answer });
        if (answer.change.scope === 'job') {
          ahead.set(jobId, stampedJob(answer.change, this.#parts.clock.now()));
        }
      } else if (ahead.has(jobId)) {
        // Refused by what may not come to be stored: asked again once that is known.
        again.push(item);
      } else if (this.#isRemembered(item)) {
        again.push({ ...item, isFresh: true });
      } else {
        answers[item.index] = answer;
        notes.push(...this.#refusalNote(item.address, answer));
      }
    }
    if (decided.length > 0 || notes.length > 0 || own !== null) {
      again.push(...(await this.#commit(decided, notes, answers, own)));
    }
    return again;
  }

  async #commit(
    decided: readonly Decided[],
    notes: readonly Note[],
    answers: Applied[],
    own: Ticket | null,
  ): Promise<Pending[]> {
    const changes = decided.map(({ change }) => ({ change }));
    const wakes = decided.flatMap(({ change, task }) => wakesOf(change, task));
    const outcome = await this.#parts.committer.commit({ changes, notes }, wakes, own);
    const again: Pending[] = [];
    for (const [position, { item, before, change }] of decided.entries()) {
      const result = outcome.changes[position];
      if (result?.type === 'done') {
        answers[item.index] = { type: 'done', before, job: result.job, change };
      } else if (result?.type === 'stale') {
        this.#parts.cache.drop(item.address.jobId);
        again.push({ ...item, isFresh: true });
      } else if (result?.type === 'limit') {
        again.push({ ...item, full: new Map([...item.full, [result.key, result.retryAfterMs]]) });
      } else if (result !== undefined && result.type in refusalOf) {
        const reason = refusalOf[result.type as keyof typeof refusalOf];
        answers[item.index] = { type: 'refused', reason, job: before };
      } else {
        throw new InternalError(`job ${before.id}: the store answered ${result?.type}`);
      }
    }
    return again;
  }

  #decide(
    { address, full }: Pending,
    job: Job | null,
    task: Task | null,
    inbox: readonly InboxItem[],
  ): Exclude<Applied, { type: 'done' }> | { readonly before: Job; readonly change: Change } {
    if (job === null) return { type: 'refused', reason: 'job_not_found', job };
    const signal = address.signal(task, inbox);
    const blueprint = this.#parts.registry.find(job.blueprint, job.blueprintVersion);
    if (blueprint === null && needsBlueprint(signal, job)) return { type: 'not_held', job };
    const decision = decide(job, signal, blueprint, this.#context(job, full));
    if (decision.type === 'refusal') return { ...decision, type: 'refused', job };
    return { before: job, change: decision };
  }

  /** What a decision about this job may use now. */
  #context(job: Job, full: ReadonlyMap<string, number | null>): DecideContext {
    const { clock, random, maxTransitions, client, offerLease, registry } = this.#parts;
    return {
      now: clock.now(),
      client: client(job.client),
      maxTransitions,
      newId: () => random.id(),
      chance: random.next(),
      lease: offerLease(),
      full,
      liveForMs: this.#parts.liveForMs,
      isBlackout: (name) => this.#parts.blackouts.has(name),
      hash: sha256,
      prepareChild: (name, input) => prepareChild(registry, name, input),
    };
  }

  /**
   * A refusal is an entry of the book, yet whoever knows a job's id can cause them without end: after
   * so many in a minute the rest is left out, and the last one says so.
   */
  #refusalNote({ onRefusal }: Address, answer: Applied): Note[] {
    if (onRefusal === undefined || answer.type !== 'refused' || answer.job === null) return [];
    const { id } = answer.job;
    const admission = this.#refusals.admit(id);
    if (admission === 'no') return [];
    const entries = onRefusal(answer.reason, answer.job, answer.said);
    if (admission === 'yes') return [{ jobId: id, entries }];
    return [{ jobId: id, entries: entries.map((entry) => ({ ...entry, details: moreLeftOut })) }];
  }

  async #readJobs(pending: readonly Pending[]): Promise<(Job | null)[]> {
    const { cache, store } = this.#parts;
    return Promise.all(
      pending.map(({ address: { jobId }, isFresh }) =>
        isFresh ? store.job(jobId) : (cache.get(jobId) ?? store.job(jobId)),
      ),
    );
  }

  /** What was handed out here is remembered; the rest is read once for all. */
  async #readTasks(pending: readonly Pending[]): Promise<(Task | null)[]> {
    const known = pending.map((item) => this.#rememberedTask(item));
    const missing = new Set<string>();
    for (const [index, { address }] of pending.entries()) {
      if (address.about !== undefined && known[index] === null) missing.add(address.jobId);
    }
    if (missing.size === 0) return known;
    const read = await this.#parts.store.tasks([...missing]);
    return pending.map(({ address }, index) => {
      const task = known[index] ?? read.find((candidate) => isAbout(address, candidate)) ?? null;
      if (task === null) this.#forgetAttempt(address);
      return task;
    });
  }

  /** Which of them bring a signal that was taken already. */
  async #readSeen(pending: readonly Pending[]): Promise<readonly boolean[]> {
    const ids = new Map<string, string[]>();
    for (const { address } of pending) {
      if (address.signalId === undefined) continue;
      ids.set(address.jobId, [...(ids.get(address.jobId) ?? []), address.signalId]);
    }
    const seen = new Map<string, ReadonlySet<string>>();
    for (const [jobId, asked] of ids)
      seen.set(jobId, new Set(await this.#parts.store.seen(jobId, asked)));
    return pending.map(({ address: { jobId, signalId } }) =>
      signalId === undefined ? false : (seen.get(jobId)?.has(signalId) ?? false),
    );
  }

  async #readInboxes(pending: readonly Pending[]): Promise<(readonly InboxItem[])[]> {
    return Promise.all(
      pending.map(({ address: { jobId, inbox } }) =>
        inbox === undefined ? [] : this.#parts.store.inbox(jobId),
      ),
    );
  }

  #rememberedTask({ address: { about }, isFresh }: Pending): Task | null {
    if (isFresh || about === undefined || !('attempt' in about)) return null;
    return this.#parts.held.get(about.attempt)?.task ?? null;
  }

  /** The store knows nothing of that attempt: whoever held it holds it no more. */
  #forgetAttempt({ jobId, about }: Address): void {
    if (about === undefined || !('attempt' in about)) return;
    const { held } = this.#parts;
    if (held.get(about.attempt)?.task.jobId === jobId) held.remove(about.attempt);
  }

  #isRemembered(item: Pending): boolean {
    if (item.isFresh) return false;
    const isJobCached = this.#parts.cache.get(item.address.jobId) !== undefined;
    return isJobCached || this.#rememberedTask(item) !== null;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

interface Decided {
  readonly item: Pending;
  readonly before: Job;
  readonly task: Task | null;
  readonly change: Change;
}

function isAbout(address: Address | undefined, task: Task): boolean {
  if (address?.about === undefined || address.jobId !== task.jobId) return false;
  return 'taskId' in address.about
    ? address.about.taskId === task.id
    : address.about.attempt === task.attempt?.id;
}
