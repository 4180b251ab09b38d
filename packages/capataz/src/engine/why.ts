import type { Job, Task, Wait } from '../core/job.ts';
import { misfit, taskClass } from '../core/requirements.ts';
import type { TimerName } from '../core/signal.ts';
import { isFinal } from '../core/status.ts';
import type { WhyView } from '../protocol/client-api.ts';
import { CapatazError } from '../protocol/errors.ts';
import { unreachable } from '../std/assert.ts';
import { formatDuration } from '../std/duration.ts';
import type { JobCauses, Store } from '../store/contract.ts';
import type { WorkerState } from './ports.ts';

/** Answers the question that every operator asks: why is this job not moving? */
export class WhyReader {
  readonly #store: Store;
  readonly #workers: () => Promise<readonly WorkerState[]>;

  constructor(store: Store, workers: () => Promise<readonly WorkerState[]>) {
    this.#store = store;
    this.#workers = workers;
  }

  async read(id: string): Promise<WhyView> {
    const job = await this.#store.job(id);
    if (job === null) throw new CapatazError('JOB_NOT_FOUND', `there is no job ${id}`);
    const [causes] = isFinal(job.status) ? [] : await this.#store.causes({ id });
    const now = await this.#store.now();
    const deadlines = [...(causes?.timers ?? [])].sort((a, b) => a.at - b.at);
    const task = causes === undefined ? undefined : waitedFor(causes);
    return {
      job_id: id,
      status: job.status,
      state: job.state,
      summary: summary(job, causes, task, now),
      deadlines: deadlines.map(({ name, at }) => ({ name, at: new Date(at).toISOString() })),
      task: task === undefined ? null : await this.#taskView(task),
    };
  }

  async #taskView(task: Task): Promise<NonNullable<WhyView['task']>> {
    const waiting = task.status === 'PENDING';
    const workers = waiting ? await this.#workers() : [];
    return {
      id: task.id,
      skill: task.spec.skill,
      status: task.status,
      worker: task.attempt?.worker ?? null,
      workers: workers.map((state) => ({ id: state.worker.id, verdict: verdict(task, state) })),
    };
  }
}

function waitedFor({ job, tasks }: JobCauses): Task | undefined {
  const { wait } = job;
  return wait?.type === 'task' ? tasks.find(({ id }) => id === wait.taskId) : undefined;
}

/** Which requirement this worker fails, else what keeps it. */
function verdict(task: Task, { worker, load, closedBy }: WorkerState): string {
  const problem = misfit(taskClass(task.spec), worker.offer);
  if (problem !== null) return problem;
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

function summary(
  job: Job,
  causes: JobCauses | undefined,
  task: Task | undefined,
  now: number,
): string {
  if (isFinal(job.status))
    return `the job has ${job.status === 'cancelled' ? 'been cancelled' : job.status}${reason(job)}`;
  if (job.status === 'quarantined')
    return `the job is parked${reason(job)}; look at its history, then redrive or cancel it`;
  const held = job.held ? 'an operator holds the job; ' : '';
  if (job.wait === null) return `${held}${handlerSummary(job, causes)}`;
  return `${held}${waitSummary(job, job.wait, causes, task, now)}`;
}

function waitSummary(
  job: Job,
  wait: Wait,
  causes: JobCauses | undefined,
  task: Task | undefined,
  now: number,
): string {
  const until = (name: TimerName): string => inTime(causes, null, name, now);
  switch (wait.type) {
    case 'timer':
      if (wait.key !== undefined) return `it waits for a place under the key "${wait.key}"`;
      return `it waits for its timer${until('wake')}`;
    case 'task':
      return task === undefined
        ? `it waits for task ${wait.taskId}`
        : taskSummary(job, task, causes, now);
    case 'parallel': {
      const open = causes?.tasks.length ?? 0;
      return `it waits for ${open} of ${wait.count} tasks of its fan-out`;
    }
    case 'approval':
      return `it waits for a person to decide: "${wait.message}"${until('deadline')}`;
    case 'child':
      return `it waits for child ${wait.jobId}${until('deadline')}`;
    case 'event': {
      const signals = Object.keys(wait.signals).join(', ');
      return `it waits for signals${signals === '' ? '' : `: ${signals}`}${until('silence') || until('deadline')}`;
    }
    default:
      return unreachable(wait);
  }
}

function reason({ error }: Job): string {
  return error === null ? '' : `: ${error.message} (${error.code})`;
}

function handlerSummary(job: Job, causes: JobCauses | undefined): string {
  if (job.lease !== null)
    return `the handler of state "${job.state}" runs on instance ${job.lease.instance}`;
  if (job.held) return `the handler of state "${job.state}" begins when it is released`;
  return causes?.runnable
    ? `the handler of state "${job.state}" waits for an instance that holds blueprint "${job.blueprint}" version ${job.blueprintVersion}`
    : `nothing moves the handler of state "${job.state}": this is a bug`;
}

function taskSummary(job: Job, task: Task, causes: JobCauses | undefined, now: number): string {
  const { attempt } = task;
  if (attempt !== null) {
    const since = formatDuration(now - attempt.assignedAt);
    return `worker ${attempt.worker} has had attempt ${attempt.number} of "${task.spec.skill}" for ${since} (${task.status})`;
  }
  if (causes?.queued.includes(task.id))
    return `task "${task.spec.skill}" is queued and waits for a worker`;
  const due = inTime(causes, task.id, 'ready', now);
  if (job.held && due === '')
    return `task "${task.spec.skill}" goes to the queue when it is released`;
  return `task "${task.spec.skill}" is planned${due}`;
}

function inTime(
  causes: JobCauses | undefined,
  taskId: string | null,
  name: string,
  now: number,
): string {
  const timer = causes?.timers.find(
    (candidate) => candidate.taskId === taskId && candidate.name === name,
  );
  return timer === undefined ? '' : `, which is due in ${formatDuration(timer.at - now)}`;
}
