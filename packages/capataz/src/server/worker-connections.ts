import type { Socket } from 'node:net';

/**
 * Which connections each worker has open. When the last one closes, that is evidence of the
 * worker's end (S-23). Connections that close after each request tell nothing and are not bound.
 */
export class WorkerConnections {
  readonly #workers = new WeakMap<Socket, Set<string>>();
  readonly #open = new Map<string, number>();
  readonly #onDropped: (worker: string) => void;
  #isStopped = false;

  constructor(onDropped: (worker: string) => void) {
    this.#onDropped = onDropped;
  }

  /** The socket carried a request of this worker. A proxy's socket may carry those of several. */
  bind(socket: Socket, worker: string): void {
    const known = this.#workers.get(socket);
    if (known?.has(worker) || socket.destroyed) return;
    this.#open.set(worker, (this.#open.get(worker) ?? 0) + 1);
    if (known !== undefined) {
      known.add(worker);
      return;
    }
    const workers = new Set([worker]);
    this.#workers.set(socket, workers);
    socket.once('close', () => {
      for (const bound of workers) this.#closed(bound);
    });
  }

  /** From now on closed connections are our own doing and tell nothing about the workers. */
  stop(): void {
    this.#isStopped = true;
  }

  #closed(worker: string): void {
    const left = (this.#open.get(worker) ?? 0) - 1;
    if (left > 0) {
      this.#open.set(worker, left);
      return;
    }
    this.#open.delete(worker);
    if (!this.#isStopped) this.#onDropped(worker);
  }
}
