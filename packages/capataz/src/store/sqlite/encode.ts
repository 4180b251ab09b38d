import type { Also, Change, TaskChange } from '../../core/change.ts';
import type { HistoryEntry } from '../../core/history.ts';
import type { Job, Task, TaskSpec, Wait } from '../../core/job.ts';
import { endedPhase } from '../../core/phase.ts';
import { taskClass } from '../../core/requirements.ts';
import type { InboxItem } from '../../core/signal.ts';
import { isFinal } from '../../core/status.ts';
import { canonicalJson } from '../../std/json.ts';
import type {
  ChangeOutcome,
  ChangeRequest,
  Claim,
  ClaimOutcome,
  Letter,
  Work,
  WorkOutcome,
} from '../contract.ts';
import { armed, earliest, isRunnable, sealedEntry, stampedJob } from '../rules.ts';
import { beside } from './beside.ts';
import type {
  AlsoMessage,
  BookMessage,
  ChangeAnswer,
  ChangeMessage,
  ClaimAnswer,
  ClaimedTask,
  CommitAnswer,
  CommitOperation,
  Done,
  ItemMessage,
  JobMessage,
  LetterMessage,
  TaskMessage,
} from './messages.ts';
import { needOf } from './need.ts';
import { TextBag, textAt } from './texts.ts';

/** Work as messages, and the writer's answers as outcomes. */

/** @returns the message, and the jobs as they will stand if their changes are stored. */
export function encodeWork(work: Work, at: number): { operation: CommitOperation; jobs: Job[] } {
  const { changes = [], starts = [], notes = [], claims = [], letters = [] } = work;
  const jobs = changes.map(({ change }) => jobAfter(change, at));
  const bag = new TextBag();
  const operation: CommitOperation = {
    type: 'commit',
    texts: bag.texts,
    changes: changes.map((request, index) =>
      changeMessage(request, jobs[index] ?? request.change.job, at, bag),
    ),
    starts: starts.map(({ jobId, taskId, attempt }) => ({ jobId, taskId, attempt })),
    notes: notes.map(({ jobId, entries }) => ({ jobId, book: bookMessage(entries, bag) })),
    letters: letters.map((letter) => letterMessage(letter, at, bag)),
    claims,
  };
  return { operation, jobs };
}

function isAside({ scope, job }: Change): boolean {
  return scope === 'tasks' && job.version > 0;
}

function jobAfter(change: Change, at: number): Job {
  return isAside(change) ? change.job : stampedJob(change, at);
}

function changeMessage(
  { change, idempotency }: ChangeRequest,
  job: Job,
  at: number,
  bag: TextBag,
): ChangeMessage {
  const { timers, leaseForMs, also, entered } = change;
  const deadlines = timers === 'keep' ? null : armed(timers, at);
  const isNew = change.job.version === 0;
  const isKept = isAside(change);
  return {
    id: job.id,
    client: job.client,
    decidedOn: change.job.version,
    ends: isFinal(job.status) && !isKept ? job.status : null,
    timedOut: isFinal(job.status) && endedPhase(job) === 'TIMEOUT',
    held: Number(job.held),
    hasLease: job.lease !== null,
    isFannedOut: job.status === 'waiting_for_parallel',
    entered,
    job: isKept ? null : jobMessage(job, isNew, bag),
    unchanging: isNew ? unchanging(job, bag) : null,
    timers:
      deadlines === null ? 'keep' : { text: JSON.stringify(deadlines), dueAt: earliest(deadlines) },
    leaseUntil: leaseForMs === 'keep' ? 'keep' : at + leaseForMs,
    need: isRunnable(job) ? 'nothing' : needOf(job),
    beside: besideOf(change),
    waitKey: waitKeyOf(job.wait),
    tasks: change.tasks.map((step) => taskMessage(step, at, bag)),
    book: bookMessage(change.history, bag),
    reservations: reservationMessages(change, at),
    idempotency:
      idempotency === undefined ? null : { key: idempotency.key, bodyHash: idempotency.bodyHash },
    also: also === null ? null : alsoMessage(also, job, at, bag),
  };
}

export function waitKeyOf(wait: Wait | null): string | null {
  return wait?.type === 'timer' ? (wait.key ?? null) : null;
}

function besideOf(change: Change): number {
  const { job, reservations, also } = change;
  let bits = 0;
  for (const { until } of reservations)
    bits |= until === 'wait' ? beside.shares | beside.waitShares : beside.shares;
  if (!isAside(change)) {
    if (waitKeyOf(job.wait) !== null) bits |= beside.waiters;
    // Set now, so that no branch has to touch the job for it.
    if (job.wait?.type === 'parallel') bits |= beside.inbox;
  }
  if (change.tasks.some(({ type }) => type === 'collect')) bits |= beside.inbox;
  if (also === null) return bits;
  if (also.posts.some(({ jobId }) => jobId === job.id)) bits |= beside.inbox;
  if (also.signalId !== null) bits |= beside.seen;
  if (also.keys.length > 0) bits |= beside.addresses;
  return bits;
}

function alsoMessage(also: Also, job: Job, at: number, bag: TextBag): AlsoMessage {
  const { rearm, posts, children, emits, ...plain } = also;
  const { client, correlationId, trace } = job;
  return {
    ...plain,
    rearm: armed(rearm, at),
    posts: posts.map(({ jobId, item, expiresAfterMs }) => ({
      jobId,
      item: itemMessage(item, bag),
      expiresAt: expiresAfterMs === null ? null : at + expiresAfterMs,
    })),
    emits: emits.map(({ payload, ...emitted }) => ({
      ...emitted,
      payload: bag.add(canonicalJson(payload)),
      client,
      correlationId,
      trace,
    })),
    children: children.map((change) => changeMessage({ change }, stampedJob(change, at), at, bag)),
  };
}

function itemMessage({ id, kind, name, body }: InboxItem, bag: TextBag): ItemMessage {
  return { id, kind, name, body: bag.add(canonicalJson(body)) };
}

function letterMessage(letter: Letter, at: number, bag: TextBag): LetterMessage {
  const { client, key, item, keepForMs } = letter;
  return { client, key, item: itemMessage(item, bag), expiresAt: at + keepForMs };
}

function jobMessage(job: Job, isNew: boolean, bag: TextBag): JobMessage {
  return {
    row: jobRow(job, isNew),
    rest: bag.add(restText(job)),
    data: bag.add(canonicalJson(job.data)),
  };
}

/** What stands between the writer's own parameters and the two texts of the statement that stores it. */
export function jobRow(job: Job, isNew: boolean): JobMessage['row'] {
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

/** What most jobs don't have is left out; `jobOf` puts it back. */
export function restText(job: Job): string {
  const { wait, lease, unread, decided, emitted, resume, result, error, results, answer } = job;
  const isApproval = wait?.type === 'approval';
  const plain = JSON.stringify(isApproval ? { lease } : { wait, lease });
  let text = `${plain.slice(0, -1)},"resume":${canonicalJson(resume)},"result":${canonicalJson(result)},"error":${canonicalJson(error)}`;
  // It holds a payload, what was shown.
  if (isApproval) text += `,"wait":${canonicalJson(wait)}`;
  if (results !== null) text += `,"results":${canonicalJson(results)}`;
  if (answer !== null) text += `,"answer":${canonicalJson(answer)}`;
  if (emitted > 0) text += `,"emitted":${emitted}`;
  if (unread) text += ',"unread":true';
  if (decided.length > 0) text += `,"decided":${JSON.stringify(decided)}`;
  return `${text}}`;
}

function unchanging(job: Job, bag: TextBag): ChangeMessage['unchanging'] {
  const { options, correlationId } = job;
  const { input, fixed } = pinnedTexts(job);
  return {
    correlation: correlationId,
    input: bag.add(input),
    fixed: bag.add(fixed),
    attributes: Object.entries(options.attributes).map(([name, value]) => ({
      name,
      value: bag.add(canonicalJson(value)),
    })),
  };
}

/** What is written of a job once. */
export function pinnedTexts({ input, options, trace, parent }: Job): {
  readonly input: string;
  readonly fixed: string;
} {
  const plain = JSON.stringify({ trace, parent });
  return {
    input: canonicalJson(input),
    fixed: `${plain.slice(0, -1)},"options":${canonicalJson(options)}}`,
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
  if (step.type === 'collect') {
    const { taskId, attempt, from, result } = step;
    const body = bag.add(canonicalJson(result));
    return { type: 'collect', taskId, attempt, from, name: result.status, body };
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
  return reservations.map(({ key, amount, limit, expiresAfterMs, until }) => ({
    key,
    amount,
    limit,
    expiresAt: expiresAfterMs === null ? null : at + expiresAfterMs,
    untilWait: Number(until === 'wait'),
  }));
}

export function decodeOutcome(
  { answer, texts }: Done,
  jobs: readonly Job[],
  claims: readonly Claim[],
  at: number,
): WorkOutcome {
  const { changes, claims: claimed, letters } = answer as CommitAnswer;
  return {
    at,
    changes: changes.map((change, index) => changeOutcome(change, texts, jobs[index])),
    claims: claimed.map((claim, index) => claimOutcome(claim, texts, claims[index], at)),
    letters,
  };
}

function changeOutcome(
  answer: ChangeAnswer,
  texts: readonly string[],
  job: Job | undefined,
): ChangeOutcome {
  if (answer.type !== 'done') return answer;
  const stored = answer.job === undefined ? job : JSON.parse(textAt(texts, answer.job));
  // Asked and answered in the same order: there is a job for each answer.
  return { type: 'done', job: stored as Job, cancelled: answer.cancelled };
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
