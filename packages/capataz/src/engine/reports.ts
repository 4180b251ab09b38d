import type { Task } from '../core/job.ts';
import type { Report } from '../core/signal.ts';
import type { WorkerRecord } from '../core/worker.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { ResultTransition } from '../protocol/worker-api.ts';
import type { Address, Applied } from './decider.ts';
import type { ReportAnswer, TaskReport } from './ports.ts';
import type { Ticket } from './ticket.ts';

/** Of the text that a refused report gives for its attempt, the book keeps so much. */
const longestNoted = 100;

/** The wish for more work that came with a report. */
export class OwnTicket implements Ticket {
  missed = false;
  got: readonly Task[] = [];
  readonly worker: WorkerRecord;
  readonly max: number;
  readonly room: () => number;
  readonly waitingSince: number;

  constructor(
    worker: WorkerRecord,
    wish: { readonly max: number; readonly room: number; readonly waitingSince: number },
  ) {
    this.worker = worker;
    this.max = wish.max;
    this.room = () => wish.room;
    this.waitingSince = wish.waitingSince;
  }

  deliver(tasks: readonly Task[]): void {
    this.got = tasks;
  }
}

/** What a worker says of an attempt, as a signal for its job. */
export function reportAddress(worker: string, { jobId, attempt, report }: TaskReport): Address {
  return {
    jobId,
    about: { attempt },
    signal: (task) => {
      if (!('handedBack' in report)) return { type: 'reported', task, attempt, worker, report };
      // Only its holder may hand an attempt back; as a report it is refused with the right reason.
      if (task?.attempt?.worker !== worker)
        return { type: 'reported', task, attempt, worker, report: {} };
      const cause = report.handedBack === 'started' ? 'handed_back' : 'not_started';
      return { type: 'returned', task, attempt, cause };
    },
    onRefusal: (reason) => [
      { type: 'report_refused', attempt: attempt.slice(0, longestNoted), worker, reason },
    ],
  };
}

/** @throws CapatazError NOT_READY: the job's blueprint is not held here. */
export function reportAnswer(applied: Applied, report: TaskReport | undefined): ReportAnswer {
  if (applied.type === 'refused') return { type: 'ignored', reason: applied.reason };
  if (applied.type === 'not_held') {
    throw new CapatazError(
      'NOT_READY',
      `this instance does not hold blueprint "${applied.job.blueprint}"`,
    );
  }
  const { wait } = applied.before;
  const mapped = wait?.type === 'task' ? wait.on : {};
  return { type: 'accepted', transition: transitionWord(report?.report, mapped) };
}

function transitionWord(
  report: TaskReport['report'] | undefined,
  on: Readonly<Record<string, string>>,
): ResultTransition {
  if (report === undefined || 'handedBack' in report || report.error !== undefined)
    return 'failure_handled';
  const status = (report as Report).status ?? 'success';
  if (Object.hasOwn(on, status)) return 'success_transition';
  return status === 'cancelled' ? 'cancelled_handled' : 'unhandled_status_failure';
}
