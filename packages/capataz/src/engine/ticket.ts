import type { Task } from '../core/job.ts';
import type { WorkerRecord } from '../core/worker.ts';

/** A worker's wish for tasks. */
export interface Ticket {
  /** As it is known now: a heartbeat may change its skills while the ticket waits. */
  readonly worker: WorkerRecord;
  readonly max: number;
  /** How many more tasks the worker may be given now. */
  readonly room: () => number;
  /** Steady instant since when it waits. */
  readonly waitingSince: number;
  /** Something that fits was queued while a claim of this ticket was under way: claim again. */
  missed: boolean;
  /** Called once with what it got, which may be nothing. */
  readonly deliver: (tasks: readonly Task[]) => void;
}
