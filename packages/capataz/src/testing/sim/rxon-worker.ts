import type { TaskBody } from '../../protocol/worker-api.ts';
import { delay } from '../../std/clock.ts';
import { type Transport, TransportError } from '../../worker/transport.ts';
import type { WorkOrder } from './moods.ts';
import type { SimProcess } from './process.ts';

export interface RxonWorkerParts {
  readonly id: string;
  readonly skills: readonly string[];
  readonly process: SimProcess;
  readonly transport: Transport;
  /** Does one task; throws what is to be reported as a transient error. */
  readonly work: (order: WorkOrder) => Promise<unknown>;
}

const heartbeatMs = 15_000;
const mostAtOnce = 3;
const resultRetries = 5;

/**
 * A worker as the stock Python SDK is one: no boot id, no batches, a heartbeat every 15 s, one poll
 * at a time and none while it is full, results sent up to five times more and then dropped.
 */
export class RxonWorker {
  readonly #parts: RxonWorkerParts;
  readonly #current = new Set<string>();
  readonly #never = new AbortController().signal;

  constructor(parts: RxonWorkerParts) {
    this.#parts = parts;
  }

  start(): void {
    void this.#register().then(() => {
      void this.#beat();
      void this.#pollForEver();
    });
  }

  async #register(): Promise<void> {
    const { id, skills, transport, process } = this.#parts;
    for (let waitMs = 1_000; ; waitMs = Math.min(2 * waitMs, 60_000)) {
      try {
        await transport.register({ worker_id: id, supported_skills: skills }, this.#never);
        return;
      } catch {
        await delay(process.clock, waitMs);
      }
    }
  }

  async #beat(): Promise<void> {
    const { id, transport, process } = this.#parts;
    for (;;) {
      try {
        const status = this.#current.size >= mostAtOnce ? 'full' : 'idle';
        await transport.heartbeat(
          { worker_id: id, status, current_tasks: [...this.#current] },
          this.#patience(),
        );
      } catch (error) {
        if (error instanceof TransportError && error.status === 404) await this.#register();
      }
      await delay(process.clock, heartbeatMs);
    }
  }

  async #pollForEver(): Promise<void> {
    const { transport, process } = this.#parts;
    for (;;) {
      if (this.#current.size < mostAtOnce) {
        try {
          const [task] = await transport.poll({ max: 1, timeoutSeconds: 30 }, this.#patience());
          if (task !== undefined) void this.#do(task);
        } catch {
          // The next poll tries again.
        }
      }
      await delay(process.clock, 500);
    }
  }

  async #do(task: TaskBody): Promise<void> {
    if (this.#current.has(task.task_id)) return;
    this.#current.add(task.task_id);
    const result = { job_id: task.job_id, task_id: task.task_id };
    const { task_id: attempt, type: skill, params } = task;
    const order = { attempt, skill, params, task: null };
    try {
      const data = JSON.parse(JSON.stringify(await this.#parts.work(order)));
      await this.#report({ ...result, status: 'success', data });
    } catch (error) {
      await this.#report({
        ...result,
        status: 'failure',
        error: { code: 'TRANSIENT_ERROR', message: String(error) },
      });
    }
  }

  /** The task leaves `current_tasks` before its result is out, as in the stock SDK. */
  async #report(result: Parameters<Transport['report']>[0]['results'][number]): Promise<void> {
    const { transport, process } = this.#parts;
    this.#current.delete(result.task_id);
    for (let tries = 0, waitMs = 1_000; tries <= resultRetries; tries += 1, waitMs *= 2) {
      try {
        await transport.report({ results: [result] }, this.#patience());
        return;
      } catch {
        await delay(process.clock, waitMs);
      }
    }
  }

  /** aiohttp gives up after 35 s. */
  #patience(): AbortSignal {
    const controller = new AbortController();
    this.#parts.process.clock.after(35_000, () => controller.abort());
    return controller.signal;
  }
}
