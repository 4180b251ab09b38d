import type { WorkerEventBody } from '../protocol/worker-api.ts';
import type { Random } from '../std/random.ts';
import type { Lane } from './lane.ts';
import type { HeldTask } from './task.ts';
import type { Transport } from './transport.ts';

export interface ProgressOptions {
  readonly lane: Lane;
  readonly transport: Transport;
  readonly random: Random;
  readonly workerId: string;
}

const answerLimitMs = 5_000;

/**
 * Sends words of progress, one at a time and best effort: of each attempt only the latest waits,
 * so that a handler may call as often as it likes.
 */
export class ProgressSender {
  readonly #options: ProgressOptions;
  readonly #latest = new Map<string, WorkerEventBody>();

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  add(task: HeldTask, fraction: number | null, message?: string): void {
    if (task.phase !== 'running') return;
    const known = fraction === null || !Number.isFinite(fraction) ? null : clamped(fraction);
    this.#latest.set(task.attempt, {
      event_id: this.#options.random.id(),
      worker_id: this.#options.workerId,
      event_type: 'progress',
      payload: { progress: known, message: message ?? null },
      target_job_id: task.jobId,
      target_task_id: task.attempt,
      origin_task_id: task.attempt,
    });
    this.pump();
  }

  pump(): void {
    const { lane } = this.#options;
    const [next] = this.#latest.entries();
    if (next === undefined || !lane.free) return;
    const [attempt, body] = next;
    this.#latest.delete(attempt);
    void this.#send(body);
  }

  async #send(body: WorkerEventBody): Promise<void> {
    const { lane, transport } = this.#options;
    const outcome = await lane.call(answerLimitMs, (signal) => transport.event(body, signal));
    if (!outcome.ok) lane.pause(outcome.error);
    else this.pump();
  }
}

function clamped(fraction: number): number {
  return Math.min(1, Math.max(0, fraction));
}
