import type { WorkersPort } from '../engine/ports.ts';

/**
 * Which workers asked for the batched forms at registration (S-40). A worker that registered with
 * another instance, or before this one started, is looked up once.
 */
export class WorkerForms {
  readonly #isBatch = new Map<string, boolean>();
  readonly #workers: WorkersPort;

  constructor(workers: WorkersPort) {
    this.#workers = workers;
  }

  registered(worker: string, isBatch: boolean): void {
    this.#isBatch.set(worker, isBatch);
  }

  forget(worker: string): void {
    this.#isBatch.delete(worker);
  }

  async isBatch(worker: string): Promise<boolean> {
    const known = this.#isBatch.get(worker);
    if (known !== undefined) return known;
    const state = (await this.#workers.list()).find((candidate) => candidate.worker.id === worker);
    if (state === undefined) return false;
    this.#isBatch.set(worker, state.worker.batch);
    return state.worker.batch;
  }
}
