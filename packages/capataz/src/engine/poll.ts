import type { Task } from '../core/job.ts';
import type { WorkerRecord } from '../core/worker.ts';
import type { Clock } from '../std/clock.ts';
import type { Committer } from './committer.ts';
import type { Lobby } from './lobby.ts';
import type { PollOptions } from './ports.ts';
import type { Ticket } from './ticket.ts';

/**
 * One long poll. It is always in one of three modes:
 * - claiming: a claim of it is under way. It ends with tasks (→ done), with nothing though
 *   something was queued meanwhile (→ claiming again), or with nothing (→ parked).
 * - parked: in the lobby, until a commit claims for it, or its worker has room again (→ claiming).
 * - done: it has delivered, which may be nothing: after its time, when aborted, or when closed.
 */
export class Poll implements Ticket {
  readonly max: number;
  readonly room: () => number;
  readonly waitingSince: number;
  missed = false;
  /** Resolves once with what was assigned. */
  readonly tasks: Promise<readonly Task[]>;
  readonly #presence: { readonly record: WorkerRecord };
  readonly #lobby: Lobby;
  readonly #committer: Committer;
  #finish: (tasks: readonly Task[]) => void = () => undefined;
  #over = false;

  constructor(
    presence: { readonly record: WorkerRecord },
    options: PollOptions & { readonly room: () => number },
    parts: { readonly lobby: Lobby; readonly committer: Committer; readonly clock: Clock },
  ) {
    this.#presence = presence;
    this.max = options.max;
    this.room = options.room;
    this.waitingSince = parts.clock.steady();
    this.#lobby = parts.lobby;
    this.#committer = parts.committer;
    this.tasks = new Promise((resolve) => {
      const close = (): void => this.close();
      const cancelTimer = parts.clock.after(options.timeoutMs, close);
      options.signal?.addEventListener('abort', close, { once: true });
      this.#finish = (tasks) => {
        cancelTimer();
        options.signal?.removeEventListener('abort', close);
        resolve(tasks);
      };
    });
    if (options.signal?.aborted) this.close();
    else this.#ask();
  }

  get worker(): WorkerRecord {
    return this.#presence.record;
  }

  /** Ends the wait. A claim that is under way is waited for: what it assigns must not be lost. */
  close(): void {
    this.#over = true;
    if (this.#lobby.leave(this)) this.#finish([]);
  }

  deliver(tasks: readonly Task[]): void {
    if (tasks.length > 0 || this.#over) this.#finish(tasks);
    else if (this.missed) this.#ask();
    else this.#lobby.park(this);
  }

  #ask(): void {
    this.missed = false;
    if (!this.#committer.tryClaim(this)) this.#lobby.park(this);
  }
}
