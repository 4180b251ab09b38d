import { takenSignals } from '../core/answers.ts';
import type { StoredEntry } from '../core/history.ts';
import type { Job, Task } from '../core/job.ts';
import { misfit, taskClass } from '../core/requirements.ts';
import { isFinal } from '../core/status.ts';
import { isOperationalWorker } from '../core/worker-machine.ts';
import type { WhyTasks, WhyView, WorkerVerdict } from '../protocol/client-api.ts';
import { CapatazError } from '../protocol/errors.ts';
import { formatDuration } from '../std/duration.ts';
import type { JobCauses, Store } from '../store/contract.ts';
import type { BlackoutCalendar } from './blackout-gate.ts';
import type { CircuitReading } from './circuits.ts';
import type { WorkerState } from './ports.ts';
import type { Registry } from './registry.ts';
import { type Facts, isHandlerTriedAgain, summary } from './why-summary.ts';

/** The newest failure is looked for in so much of the book: whoever has more has failed for a long time. */
const maxPages = 10;
const pageSize = 1_000;

/** Branches may all differ, and each group is told with every worker. */
const maxGroups = 20;

export interface WhyParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly workers: () => Promise<readonly WorkerState[]>;
  readonly blackouts: Pick<BlackoutCalendar, 'endAt'>;
}

/** Answers the question that every operator asks: why is this job not moving? */
export class WhyReader {
  readonly #parts: WhyParts;

  constructor(parts: WhyParts) {
    this.#parts = parts;
  }

  async read(id: string): Promise<WhyView> {
    const job = await this.#parts.store.job(id);
    if (job === null) throw new CapatazError('JOB_NOT_FOUND', `there is no job ${id}`);
    const facts = await this.#facts(job);
    const { causes, task, takes } = facts;
    const branches = job.wait?.type === 'parallel' ? (causes?.tasks ?? []) : [];
    const isWaiting = [task, ...branches].some((one) => one?.status === 'PENDING');
    const workers = isWaiting ? await this.#parts.workers() : [];
    const lastFailure = isTriedAgain(job, task) ? await this.#lastFailure(id, task) : null;
    const isTaskShutOut = task?.status === 'PENDING' && isShutOut(task, workers);
    const deadlines = [...(causes?.timers ?? [])].sort((a, b) => a.at - b.at);
    return {
      job_id: id,
      status: job.status,
      state: job.state,
      summary: summary({
        ...facts,
        lastFailure,
        isShutOut: isTaskShutOut,
        blackoutEndsAt: this.#blackoutEnd(task, facts.now),
      }),
      deadlines: deadlines.map(({ name, at }) => ({ name, at: new Date(at).toISOString() })),
      task: task === undefined ? null : taskView(task, workers),
      tasks: groupsOf(branches, workers),
      child: await this.#child(job),
      signals: takes,
    };
  }

  #blackoutEnd(task: Task | undefined, now: number): number | null {
    const name = task?.spec.notDuring;
    return name === undefined ? null : this.#parts.blackouts.endAt(name, now);
  }

  async #facts(job: Job): Promise<Facts> {
    const { store, registry } = this.#parts;
    const [causes] = isFinal(job.status) ? [] : await store.causes({ id: job.id });
    return {
      job,
      causes,
      task: causes === undefined ? undefined : waitedFor(causes),
      takes: takenSignals(job, registry.find(job.blueprint, job.blueprintVersion)),
      now: await store.now(),
    };
  }

  async #lastFailure(id: string, task: Task | undefined): Promise<string | null> {
    let [last, after]: [string | null, number] = [null, 0];
    for (let page = 0; page < maxPages; page += 1) {
      const entries = await this.#parts.store.history(id, after, pageSize);
      for (const entry of entries) if (isFailure(entry, task)) last = entry.reason ?? last;
      if (entries.length < pageSize) break;
      after = entries.at(-1)?.seq ?? after;
    }
    return last;
  }

  async #child({ wait }: Job): Promise<WhyView['child']> {
    const child = wait?.type === 'child' ? await this.#parts.store.job(wait.jobId) : null;
    if (child === null) return null;
    const { id, status, state } = child;
    return { id, status, state, summary: summary(await this.#facts(child)) };
  }
}

/** It stands where it is because something has failed before. */
function isTriedAgain(job: Job, task: Task | undefined): boolean {
  if (task !== undefined) return task.attempt === null && task.attempts > 0;
  return isHandlerTriedAgain(job);
}

function isFailure({ type, task }: StoredEntry, failed: Task | undefined): boolean {
  return failed === undefined
    ? type === 'handler_failed'
    : type === 'task_failed' && task === failed.id;
}

function waitedFor({ job, tasks }: JobCauses): Task | undefined {
  const { wait } = job;
  return wait?.type === 'task' ? tasks.find(({ id }) => id === wait.taskId) : undefined;
}

function taskView(task: Task, workers: readonly WorkerState[]): NonNullable<WhyView['task']> {
  return {
    id: task.id,
    skill: task.spec.skill,
    status: task.status,
    worker: task.attempt?.worker ?? null,
    workers: task.status === 'PENDING' ? verdicts(task, workers) : [],
  };
}

/** Those that wait for a worker first: they are what one asks about. */
function groupsOf(tasks: readonly Task[], workers: readonly WorkerState[]): WhyTasks[] {
  const groups = Map.groupBy(tasks, ({ spec }) => taskClass(spec).key);
  return [...groups.values()]
    .map((group) => ({ group, pending: group.filter(({ status }) => status === 'PENDING') }))
    .sort((a, b) => Number(b.pending.length > 0) - Number(a.pending.length > 0))
    .slice(0, maxGroups)
    .map(({ group, pending }) => groupView(group, pending, workers));
}

function groupView(
  group: readonly Task[],
  pending: readonly Task[],
  workers: readonly WorkerState[],
): WhyTasks {
  const [first] = pending;
  return {
    skill: group[0]?.spec.skill ?? '',
    pending: pending.length,
    running: group.length - pending.length,
    holders: [...new Set(group.flatMap(({ attempt }) => attempt?.worker ?? []))],
    workers: first === undefined ? [] : verdicts(first, workers),
  };
}

function verdicts(task: Task, workers: readonly WorkerState[]): WorkerVerdict[] {
  return workers.map((state) => ({ id: state.worker.id, verdict: verdict(task, state) }));
}

function circuitVerdict({ state, triedInMs }: CircuitReading): string {
  if (state === 'half_open') return 'fits, but lost tasks before: it is tried with one at a time';
  const when = triedInMs === null ? 'with its next poll' : `in ${formatDuration(triedInMs)}`;
  return `fits, but its circuit is open: it kept losing tasks, and is tried again ${when}`;
}

/** Whoever fits is left alone for now, so that nobody can take it. */
function isShutOut(task: Task, workers: readonly WorkerState[]): boolean {
  const fitting = workers.filter(
    ({ worker }) => misfit(taskClass(task.spec), worker.offer) === null,
  );
  return fitting.length > 0 && fitting.every(({ circuit }) => circuit.state === 'open');
}

/** Which requirement this worker fails, else what keeps it. */
function verdict(task: Task, { worker, load, closedBy, circuit }: WorkerState): string {
  const problem = misfit(taskClass(task.spec), worker.offer);
  if (problem !== null) return problem;
  if (circuit.state !== 'closed' && isOperationalWorker(worker.status))
    return circuitVerdict(circuit);
  if (closedBy !== null) return `fits, but says that it is ${closedBy}`;
  switch (worker.status) {
    case 'READY':
      return 'fits, and has not asked for work yet';
    case 'BUSY':
      return `fits, but is busy with ${load} of ${worker.slots} tasks`;
    default:
      return `fits, but is ${worker.status}`;
  }
}
