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
  Done,
  TaskMessage,
} from './messages.ts';
import { TextBag, textAt } from './texts.ts';

/** Work as messages, and the writer's answers as outcomes. */

/** @returns the message, and the jobs as they will stand if their changes are stored. */
export function encodeWork(work: Work, at: number): { operation: CommitOperation; jobs: Job[] } {
  const { changes = [], starts = [], notes = [], claims = [] } = work;
  const jobs = changes.map(({ change }) => stampedJob(change, at));
  const bag = new TextBag();
  const operation: CommitOperation = {
    type: 'commit',
    texts: bag.texts,
    changes: changes.map((request, index) =>
      changeMessage(request, jobs[index] ?? request.change.job, at, bag),
    ),
    starts: starts.map(({ jobId, taskId, attempt }) => ({ jobId, taskId, attempt })),
    notes: notes.map(({ jobId, entries }) => ({ jobId, book: bookMessage(entries, bag) })),
    claims,
  };
  return { operation, jobs };
}

function changeMessage(
  { change, idempotency }: ChangeRequest,
  job: Job,
  at: number,
  bag: TextBag,
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
    rest: bag.add(restText(job)),
    data: bag.add(canonicalJson(job.data)),
    unchanging: isNew ? unchanging(job, bag) : null,
    timers:
      deadlines === null ? 'keep' : { text: JSON.stringify(deadlines), dueAt: earliest(deadlines) },
    leaseUntil: leaseForMs === 'keep' ? 'keep' : at + leaseForMs,
    ...need(job),
    tasks: change.tasks.map((step) => taskMessage(step, at, bag)),
    book: bookMessage(change.history, bag),
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

/** What stands between the writer's own parameters and the two texts of the statement that stores it. */
function jobRow(job: Job, isNew: boolean): ChangeMessage['row'] {
  const { id, version, client, blueprint, blueprintVersion, status, state, entry, hops, failures } =
    job;
  const { createdAt, enteredAt, endedAt } = job;
  const held = Number(job.held);
  const names = [id, version, client, blueprint, blueprintVersion];
  const progress = [status, state, entry, hops, failures, held];
  if (endedAt !== null) return [...names, ...progress, createdAt, enteredAt, endedAt];
  const hot = [...progress, Number(isRunnable(job)), job.lease?.token ?? null];
  if (isNew) return [...names, ...hot, createdAt, enteredAt];
  return [version, ...hot, enteredAt];
}

// Canonical form is for payloads (S-9) and costs several times as much as the plain one, so that
// records of ours are written plainly around them.

function restText({ wait, lease, resume, result, error }: Job): string {
  const plain = JSON.stringify({ wait, lease });
  return `${plain.slice(0, -1)},"resume":${canonicalJson(resume)},"result":${canonicalJson(result)},"error":${canonicalJson(error)}}`;
}

function unchanging(
  { input, options, correlationId, trace }: Job,
  bag: TextBag,
): ChangeMessage['unchanging'] {
  const plain = JSON.stringify({ correlationId, trace });
  return {
    input: bag.add(canonicalJson(input)),
    fixed: bag.add(`${plain.slice(0, -1)},"options":${canonicalJson(options)}}`),
  };
}

function specText({ params, requirements, metadata, ...plain }: TaskSpec): string {
  const payloads = `"params":${canonicalJson(params)},"requirements":${canonicalJson(requirements)},"metadata":${canonicalJson(metadata)}`;
  return `${JSON.stringify(plain).slice(0, -1)},${payloads}}`;
}

function taskMessage(step: TaskChange, at: number, bag: TextBag): TaskMessage {
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
    spec: bag.add(specText(spec)),
  };
}

function bookMessage(entries: readonly HistoryEntry[], bag: TextBag): BookMessage {
  const sealed = entries.map(sealedEntry);
  return {
    count: sealed.length,
    entries: bag.add(`[${sealed.map(({ text }) => text).join(',')}]`),
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
  { answer, texts }: Done,
  jobs: readonly Job[],
  claims: readonly Claim[],
  at: number,
): WorkOutcome {
  const { changes, claims: claimed } = answer as CommitAnswer;
  return {
    at,
    changes: changes.map((change, index) => changeOutcome(change, jobs[index])),
    claims: claimed.map((claim, index) => claimOutcome(claim, texts, claims[index], at)),
  };
}

function changeOutcome(answer: ChangeAnswer, job: Job | undefined): ChangeOutcome {
  if (answer.type !== 'done') return answer;
  // Asked and answered in the same order: there is a job for each answer.
  return { type: 'done', job: job as Job, cancelled: answer.cancelled };
}

function claimOutcome(
  { tasks, ...rest }: ClaimAnswer,
  texts: readonly string[],
  claim: Claim | undefined,
  at: number,
): ClaimOutcome {
  const { worker = '', incarnation = '' } = claim ?? {};
  const taskOf = (claimed: ClaimedTask): Task => {
    const { id, jobId, status, attempts, failures, lostRuns, resultAt } = claimed;
    return {
      id,
      jobId,
      spec: JSON.parse(textAt(texts, claimed.spec)) as TaskSpec,
      status,
      attempts,
      attempt: { id: claimed.attempt, number: attempts, worker, incarnation, assignedAt: at },
      failures,
      lostRuns,
      resultAt,
    };
  };
  return { tasks: tasks.map(taskOf), ...rest };
}
