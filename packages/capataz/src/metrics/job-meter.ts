import type { HistoryEntry } from '../core/history.ts';
import type { Job, Task } from '../core/job.ts';
import { endedPhase, type Phase } from '../core/phase.ts';
import { isFinal } from '../core/status.ts';
import type { Committed, DoneChange } from '../engine/committer.ts';
import type { Clock } from '../std/clock.ts';
import { isJsonObject } from '../std/json.ts';
import type { StartMark } from '../store/contract.ts';
import type { Exemplars } from './exemplars.ts';
import { counterNames, type Instruments } from './instruments.ts';
import { Stays } from './stays.ts';

/** Attempts that ended before a sign of work, by the reason in the book. */
const failedHandOuts: ReadonlySet<string> = new Set([
  'not_delivered',
  'not_started',
  'assigned_timeout',
  'scheduled_timeout',
]);

/** H-f: an attempt that was stuck makes its job FAILED, and counts as timed out, too. */
const stuckCodes: ReadonlySet<string> = new Set(['ASSIGNED_TIMEOUT', 'SCHEDULED_TIMEOUT']);

/** What commits say of jobs: the counters, and how long each stayed in its phase. */
export class JobMeter {
  readonly #instruments: Instruments;
  readonly #exemplars: Exemplars;
  readonly #stays: Stays<Phase>;
  /** Of single tasks: the attempt whose first sign of work makes the job RUNNING. */
  readonly #attempts = new Map<string, string>();
  /** Of fan-outs: branches that somebody holds. */
  readonly #branches = new Map<string, number>();

  constructor(instruments: Instruments, clock: Clock, exemplars: Exemplars) {
    this.#instruments = instruments;
    this.#exemplars = exemplars;
    this.#stays = new Stays(clock, (state, seconds, link) => {
      instruments.jobStateDuration.observe({ state }, seconds);
      if (link !== '') exemplars.observed('job_state_duration', state, seconds, link);
    });
  }

  onCommitted({ done, starts, assigned, notes }: Committed): void {
    for (const change of done) {
      for (const entry of change.request.change.history) this.#count(entry, change);
      this.#follow(change);
    }
    for (const { entries } of notes) for (const entry of entries) this.#countIgnored(entry);
    for (const mark of starts) this.#onStart(mark);
    for (const task of assigned) this.#onAssigned(task);
  }

  #count(entry: HistoryEntry, { request, outcome }: DoneChange): void {
    const { job } = outcome;
    switch (entry.type) {
      case 'job_created':
        return this.#add('jobsCreated', job);
      case 'job_finished':
        return this.#add('jobsCompleted', job);
      case 'job_failed':
        // It was counted when it was quarantined.
        if (request.change.history.some(({ type }) => type === 'job_dismissed')) return;
        return this.#countFailed(job);
      case 'job_quarantined':
        return this.#countFailed(job);
      case 'task_failed':
        if (failedHandOuts.has(entry.reason ?? '')) this.#add('dispatchFailures', job);
        return;
      case 'task_cancelled':
        if (entry.reason === 'DISPATCH_TIMEOUT') this.#add('dispatchFailures', job);
        return;
      default:
        return this.#countIgnored(entry);
    }
  }

  #countIgnored({ type, details }: HistoryEntry): void {
    const { signalsIgnored } = this.#instruments;
    if (type === 'signal_refused') signalsIgnored.inc({ outcome: 'refused' });
    if (type === 'signal_taken' && isJsonObject(details) && 'note' in details)
      signalsIgnored.inc({ outcome: 'noted' });
  }

  #countFailed(job: Job): void {
    this.#add('jobsFailed', job);
    const { error } = job;
    const isLate = endedPhase({ status: 'failed', error }) === 'TIMEOUT';
    if (isLate || stuckCodes.has(error?.code ?? '')) this.#add('jobsTimedOut', job);
  }

  #add(name: keyof typeof counterNames, { correlationId }: Job): void {
    this.#instruments[name].inc();
    this.#exemplars.counted(counterNames[name], correlationId);
  }

  #follow(change: DoneChange): void {
    const { job } = change.outcome;
    if (change.request.change.scope === 'tasks') this.#onBranchesBack(change);
    else if (isFinal(job.status)) this.#forget(job.id);
    else this.#move(change);
  }

  #forget(jobId: string): void {
    this.#stays.end(jobId);
    this.#attempts.delete(jobId);
    this.#branches.delete(jobId);
  }

  #move({ request, outcome }: DoneChange): void {
    const { job } = outcome;
    if (job.wait?.type !== 'parallel') this.#branches.delete(job.id);
    const phase = this.#phaseAfter(job, request.change);
    if (phase !== 'ASSIGNED' && phase !== 'SCHEDULED') this.#attempts.delete(job.id);
    if (request.change.job.version === 0)
      this.#stays.begin(job.id, phase ?? 'WAITING', job.correlationId);
    else if (phase !== null) this.#stays.enter(job.id, phase);
  }

  /** As core/phase.ts tells it, from what a change says. @returns null where it is not known here. */
  #phaseAfter(
    { id, status, wait, lease }: Job,
    { tasks }: DoneChange['request']['change'],
  ): Phase | null {
    if (status === 'quarantined') return 'FAILED';
    if (wait?.type === 'task') {
      const isQueued = tasks.some(
        (step) => (step.type === 'start' || step.type === 'requeue') && step.taskId === wait.taskId,
      );
      return isQueued ? 'PENDING' : (this.#stays.stateOf(id) ?? null);
    }
    return lease !== null || this.#branches.has(id) ? 'RUNNING' : 'WAITING';
  }

  #onBranchesBack({ request, outcome }: DoneChange): void {
    const back = request.change.tasks.filter((step) => 'attempt' in step && step.attempt !== null);
    if (back.length > 0) this.#setBranches(outcome.job.id, -back.length);
  }

  #setBranches(jobId: string, by: number): void {
    const held = Math.max(0, (this.#branches.get(jobId) ?? 0) + by);
    const stay = this.#stays.stateOf(jobId);
    // Nothing is kept of jobs that are not followed.
    if (stay === undefined) return;
    if (held === 0) this.#branches.delete(jobId);
    else this.#branches.set(jobId, held);
    // The other branches of a fan-out with one that was given up go on while the job is parked.
    if (stay !== 'FAILED') this.#stays.enter(jobId, held === 0 ? 'WAITING' : 'RUNNING');
  }

  #onAssigned({ jobId, spec, status, attempt }: Task): void {
    if (spec.branch !== undefined) return this.#setBranches(jobId, 1);
    if (this.#stays.stateOf(jobId) === undefined) return;
    this.#stays.enter(jobId, status);
    if (attempt !== null) this.#attempts.set(jobId, attempt.id);
  }

  #onStart({ jobId, attempt }: StartMark): void {
    if (this.#attempts.get(jobId) !== attempt) return;
    this.#attempts.delete(jobId);
    this.#stays.enter(jobId, 'RUNNING');
  }
}
