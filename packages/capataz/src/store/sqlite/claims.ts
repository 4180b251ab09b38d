import type { TaskStatus } from '../../core/status.ts';
import {
  afterHandOut,
  assignedEntry,
  type Deadlines,
  earliest,
  type HandOutRoom,
  handedOutStatus,
  startedEntry,
} from '../rules.ts';
import type { ClaimAnswer, ClaimedTask, ClaimMessage } from './messages.ts';
import type { TextBag } from './texts.ts';
import type { WriterState } from './writer-state.ts';

interface Head {
  readonly n: number;
  readonly rank: number;
  readonly lost_runs: number;
  readonly timers: string;
  readonly execution_limit_ms: number;
  readonly id: string;
  readonly job: number;
  readonly job_id: string;
  readonly bound: number;
  readonly attempts: number;
  readonly failures: number;
  readonly spec: string;
}

/** The front of the queue of one class, read in pieces as it is used up. */
class ClassQueue {
  readonly key: string;
  readonly #state: WriterState;
  readonly #id: number | undefined;
  #heads: Head[] = [];
  #next = 0;
  #piece: number;
  #isRead: boolean;
  #place: Pick<Head, 'rank' | 'n'> = { rank: Number.MIN_SAFE_INTEGER, n: 0 };

  constructor(state: WriterState, key: string, firstPiece: number) {
    this.key = key;
    this.#state = state;
    this.#id = state.knownClassId(key);
    this.#piece = firstPiece;
    this.#isRead = this.#id === undefined;
  }

  /** The first task that is left; suspects are passed over for good once they are not wanted. */
  head(suspectsToo: boolean): Head | undefined {
    for (;;) {
      const head = this.#heads[this.#next];
      if (head !== undefined) {
        if (suspectsToo || head.lost_runs === 0) return head;
        this.#next += 1;
      } else if (this.#isRead) return undefined;
      else this.#read(suspectsToo);
    }
  }

  take(): void {
    this.#next += 1;
  }

  isDrained(): boolean {
    return (
      this.#id === undefined || this.#state.statements.get('queue-has', this.#id) === undefined
    );
  }

  #read(suspectsToo: boolean): void {
    const { rank, n } = this.#place;
    const wanted = this.#piece;
    this.#heads = this.#state.statements.all<Head>(
      'queue-heads',
      this.#id ?? 0,
      rank,
      n,
      Number(suspectsToo),
      wanted,
    );
    this.#next = 0;
    this.#isRead = this.#heads.length < wanted;
    this.#place = this.#heads.at(-1) ?? this.#place;
    this.#piece = wanted * 4;
  }
}

/** Hands queued tasks to a worker: lane by lane in turn, within a lane the best first (S-29). */
export function applyClaim(
  state: WriterState,
  claim: ClaimMessage,
  room: HandOutRoom,
  at: number,
  bag: TextBag,
): ClaimAnswer {
  if (!room.nextClaim()) return { tasks: [], drained: [], cut: true };
  const max = Math.min(claim.max, claim.attemptIds.length);
  const firstPiece = Math.max(1, Math.ceil(max / Math.max(1, claim.lanes.flat().length)));
  const queues = new Map<string, ClassQueue>();
  for (const key of claim.lanes.flat()) queues.set(key, new ClassQueue(state, key, firstPiece));
  let lanes = claim.lanes.map((keys) => keys.flatMap((key) => queues.get(key) ?? []));
  const tasks: ClaimedTask[] = [];
  let suspects = 0;
  const isFull = (): boolean => tasks.length === max || room.isFull;
  while (lanes.length > 0 && !isFull()) {
    const served: ClassQueue[][] = [];
    for (const lane of lanes) {
      if (isFull()) break;
      const best = bestOf(lane, suspects < claim.maxSuspects);
      if (best === undefined) continue;
      served.push(lane);
      best.queue.take();
      if (best.head.lost_runs > 0) suspects += 1;
      const task = handOut(state, best.head, claim, claim.attemptIds[tasks.length] ?? '', at);
      room.take(best.head.spec.length);
      tasks.push({ ...task, spec: bag.add(best.head.spec) });
    }
    lanes = served;
  }
  const drained = [...queues.values()].filter((queue) => queue.isDrained());
  return { tasks, drained: drained.map(({ key }) => key) };
}

function bestOf(
  lane: readonly ClassQueue[],
  suspectsToo: boolean,
): { queue: ClassQueue; head: Head } | undefined {
  let best: { queue: ClassQueue; head: Head } | undefined;
  for (const queue of lane) {
    const head = queue.head(suspectsToo);
    if (head === undefined) continue;
    const isBetter =
      best === undefined ||
      head.rank < best.head.rank ||
      (head.rank === best.head.rank && head.n < best.head.n);
    if (isBetter) best = { queue, head };
  }
  return best;
}

function handOut(
  state: WriterState,
  head: Head,
  claim: ClaimMessage,
  attempt: string,
  at: number,
): Omit<ClaimedTask, 'spec'> {
  const { id, failures } = head;
  const attempts = head.attempts + 1;
  const bound = head.bound === 1;
  const status = handedOutStatus(bound);
  const deadlines = afterHandOut(JSON.parse(head.timers) as Deadlines, head.execution_limit_ms, at);
  state.statements.run(
    'task-hand-out',
    head.n,
    status,
    attempt,
    claim.worker,
    claim.incarnation,
    at,
    state.nextHandOut(),
    JSON.stringify(deadlines),
    earliest(deadlines),
  );
  const entry = assignedEntry({ id, bound, attempts }, attempt, claim);
  state.write(head.job, { count: 1, entries: `[${JSON.stringify(entry)}]`, lost: 0 }, at);
  return {
    id,
    jobId: head.job_id,
    status,
    attempts,
    attempt,
    failures,
    lostRuns: head.lost_runs,
    resultAt: deadlines.result ?? null,
  };
}

/** The first sign of work: RUNNING is written once an attempt (S-26). */
export function applyStart(
  state: WriterState,
  mark: { jobId: string; taskId: string; attempt: string },
  at: number,
): void {
  const { statements } = state;
  const job = statements.get<{ n: number }>('job-find', mark.jobId);
  if (job === undefined) return;
  const task = statements.get<{
    n: number;
    status: TaskStatus;
    attempt_id: string | null;
    worker: string | null;
  }>('task-find', job.n, mark.taskId);
  if (task === undefined || task.attempt_id !== mark.attempt || task.status === 'RUNNING') return;
  statements.run('task-start', task.n);
  const entry = startedEntry(mark.taskId, mark.attempt, task.worker ?? '', task.status);
  state.write(job.n, { count: 1, entries: `[${JSON.stringify(entry)}]`, lost: 0 }, at);
}
