import type { Change, TaskChange } from '../../core/change.ts';
import type { HistoryEntry } from '../../core/history.ts';
import type { Job, Task, TaskSpec } from '../../core/job.ts';
import { taskClass } from '../../core/requirements.ts';
import { isFinal } from '../../core/status.ts';
import { canonicalJson } from '../../std/json.ts';
import type {
  ChangeOutcome,
  ChangeRequest,
  Claim,
  ClaimOutcome,
  Work,
  WorkOutcome,
} from '../contract.ts';
import { armed, earliest, isRunnable, sealedEntry, stampedJob } from '../rules.ts';
import type {
  BookMessage,
  ChangeAnswer,
  ChangeMessage,
  ClaimAnswer,
  ClaimedTask,
  CommitAnswer,
  CommitOperation,
  TaskMessage,
} from './messages.ts';

/** Work as messages, and the writer's answers as outcomes. */

/** @returns the message, and the jobs as they will stand if their changes are stored. */
export function encodeWork(work: Work, at: number): { operation: CommitOperation; jobs: Job[] } {
  const { changes = [], starts = [], notes = [], claims = [] } = work;
  const jobs = changes.map(({ change }) => stampedJob(change, at));
  const operation: CommitOperation = {
    type: 'commit',
    changes: changes.map((request, index) =>
      changeMessage(request, jobs[index] ?? request.change.job, at),
    ),
    starts: starts.map(({ jobId, taskId, attempt }) => ({ jobId, taskId, attempt })),
    notes: notes.map(({ jobId, entries }) => ({ jobId, book: bookMessage(entries) })),
    claims,
  };
  return { operation, jobs };
}

function changeMessage(
  { change, idempotency }: ChangeRequest,
  job: Job,
  at: number,
): ChangeMessage {
  const { timers, leaseForMs } = change;
  const deadlines = timers === 'keep' ? null : armed(timers, at);
  const isNew = change.job.version === 0;
  return {
    id: job.id,
    client: job.client,
    decidedOn: change.job.version,
    ends: isFinal(job.status) ? job.status : null,
    held: Number(job.held),
    hasLease: job.lease !== null,
    row: jobRow(job, isNew),
    unchanging: isNew ? unchanging(job) : null,
    timers:
      deadlines === null ? 'keep' : { text: JSON.stringify(deadlines), dueAt: earliest(deadlines) },
    leaseUntil: leaseForMs === 'keep' ? 'keep' : at + leaseForMs,
    ...need(job),
    tasks: change.tasks.map((step) => taskMessage(step, at)),
    book: bookMessage(change.history),
    reservations: reservationMessages(change, at),
    idempotency:
      idempotency === undefined ? null : { key: idempotency.key, bodyHash: idempotency.bodyHash },
  };
}

/** The mirror of core/limbo.ts: what the writer has to look for. */
function need(job: Job): Pick<ChangeMessage, 'needs' | 'waitTask'> {
  if (isFinal(job.status) || job.status === 'quarantined' || job.held)
    return { needs: 'nothing', waitTask: null };
  if (job.wait === null) return { needs: isRunnable(job) ? 'nothing' : 'handler', waitTask: null };
  if (job.wait.type === 'timer') return { needs: 'wake', waitTask: null };
  return { needs: 'task', waitTask: job.wait.taskId };
}

/** What follows the writer's own parameters in `ended-insert`, `job-insert` or `job-update`. */
function jobRow(job: Job, isNew: boolean): ChangeMessage['row'] {
  const { id, version, client, blueprint, blueprintVersion, status, state, entry, hops, failures } =
    job;
  const { createdAt, enteredAt, endedAt } = job;
  const held = Number(job.held);
  const rest = restText(job);
  const data = canonicalJson(job.data);
  const names = [id, version, client, blueprint, blueprintVersion];
  const progress = [status, state, entry, hops, failures, held];
  if (endedAt !== null) return [...names, ...progress, createdAt, enteredAt, endedAt, rest, data];
  const hot = [...progress, Number(isRunnable(job)), job.lease?.token ?? null];
  if (isNew) return [...names, ...hot, createdAt, enteredAt, rest, data];
  return [version, ...hot, enteredAt, rest, data];
}

// Canonical form is for payloads (S-9) and costs several times as much as the plain one, so that
// records of ours are written plainly around them.

function restText({ wait, lease, resume, result, error }: Job): string {
  const plain = JSON.stringify({ wait, lease });
  return `${plain.slice(0, -1)},"resume":${canonicalJson(resume)},"result":${canonicalJson(result)},"error":${canonicalJson(error)}}`;
}

function unchanging({ input, options, correlationId, trace }: Job): ChangeMessage['unchanging'] {
  const plain = JSON.stringify({ correlationId, trace });
  return {
    input: canonicalJson(input),
    fixed: `${plain.slice(0, -1)},"options":${canonicalJson(options)}}`,
  };
}

function specText({ params, requirements, metadata, ...plain }: TaskSpec): string {
  const payloads = `"params":${canonicalJson(params)},"requirements":${canonicalJson(requirements)},"metadata":${canonicalJson(metadata)}`;
  return `${JSON.stringify(plain).slice(0, -1)},${payloads}}`;
}

function taskMessage(step: TaskChange, at: number): TaskMessage {
  if (step.type === 'requeue') {
    const { taskId, attempt, from, failures, lostRuns } = step;
    return {
      type: 'requeue',
      taskId,
      attempt,
      from,
      failures,
      lostRuns,
      deadlines: armed(step.timers, at),
    };
  }
  if (step.type !== 'start') return step;
  const { spec, taskId } = step;
  const ofClass = taskClass(spec);
  return {
    type: 'start',
    taskId,
    classKey: ofClass.key,
    classText: JSON.stringify(ofClass),
    rank: -spec.priority,
    bound: Number(spec.requirements.worker !== undefined),
    executionLimitMs: spec.executionLimitMs,
    deadlines: armed(step.timers, at),
    spec: specText(spec),
  };
}

function bookMessage(entries: readonly HistoryEntry[]): BookMessage {
  const sealed = entries.map(sealedEntry);
  return {
    count: sealed.length,
    entries: `[${sealed.map(({ text }) => text).join(',')}]`,
    lost: sealed.filter(({ lost }) => lost).length,
  };
}

function reservationMessages({ reservations }: Change, at: number): ChangeMessage['reservations'] {
  return reservations.map(({ key, amount, limit, expiresAfterMs }) => ({
    key,
    amount,
    limit,
    expiresAt: expiresAfterMs === null ? null : at + expiresAfterMs,
  }));
}

export function decodeOutcome(
  answer: CommitAnswer,
  jobs: readonly Job[],
  claims: readonly Claim[],
  at: number,
): WorkOutcome {
  return {
    at,
    changes: answer.changes.map((change, index) => changeOutcome(change, jobs[index])),
    claims: answer.claims.map((claim, index) => claimOutcome(claim, claims[index], at)),
  };
}

function changeOutcome(answer: ChangeAnswer, job: Job | undefined): ChangeOutcome {
  if (answer.type !== 'done') return answer;
  // Asked and answered in the same order: there is a job for each answer.
  return { type: 'done', job: job as Job, cancelled: answer.cancelled };
}

function claimOutcome(
  { tasks, ...rest }: ClaimAnswer,
  claim: Claim | undefined,
  at: number,
): ClaimOutcome {
  const { worker = '', incarnation = '' } = claim ?? {};
  return { tasks: tasks.map((task) => claimedTask(task, worker, incarnation, at)), ...rest };
}

function claimedTask(claimed: ClaimedTask, worker: string, incarnation: string, at: number): Task {
  const { id, jobId, status, attempts, failures, lostRuns, resultAt } = claimed;
  return {
    id,
    jobId,
    spec: JSON.parse(claimed.spec) as TaskSpec,
    status,
    attempts,
    attempt: { id: claimed.attempt, number: attempts, worker, incarnation, assignedAt: at },
    failures,
    lostRuns,
    resultAt,
  };
}
