import type { Clock } from '../../std/clock.ts';
import { unavailable } from '../refusals.ts';
import type { Done, Operation, WriterOptions } from './messages.ts';
import type { DatabasePlace } from './place.ts';
import { WriterLink } from './writer-link.ts';

export interface KeeperParts {
  readonly options: WriterOptions;
  readonly place: DatabasePlace;
  readonly clock: Clock;
}

const maxRestarts = 3;
/** A thread that dies more often than `maxRestarts` within this time dies of something that stays. */
const restartWindowMs = 60_000;

/**
 * Keeps a writing thread on the database. One that dies (out of memory, a fault of the runtime)
 * takes with it what it was asked, which is refused as uncertain; what is asked meanwhile waits for
 * the next one. After too many deaths everything is refused for good: a new process has to look.
 */
export class WriterKeeper {
  readonly #parts: KeeperParts;
  #link: WriterLink | null = null;
  #starting: Promise<void> | null = null;
  #refusal: Error | null = null;
  /** Steady instants of the starts after a death. */
  #restarts: number[] = [];

  private constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** Resolves when the writer has opened the database. */
  static async start(parts: KeeperParts): Promise<WriterKeeper> {
    const keeper = new WriterKeeper(parts);
    keeper.#link = await keeper.#newLink();
    return keeper;
  }

  /** @throws CapatazError STORE_UNAVAILABLE, whose text says whether it may have been stored. */
  async ask(operation: Operation): Promise<Done> {
    while (this.#starting !== null) await this.#starting;
    if (this.#refusal !== null) throw this.#refusal;
    return this.#living().ask(operation);
  }

  /** Finishes what was asked, then lets the thread end. */
  async close(at: number): Promise<void> {
    while (this.#starting !== null) await this.#starting;
    if (this.#refusal !== null) return;
    this.#refusal = unavailable('it is closed');
    await this.#living().close(at);
  }

  #living(): WriterLink {
    if (this.#link === null) throw unavailable('the writing thread is not there');
    return this.#link;
  }

  #newLink(): Promise<WriterLink> {
    return WriterLink.start(this.#parts.options, (error) => {
      this.#link = null;
      this.#starting = this.#restart(error).finally(() => {
        this.#starting = null;
      });
    });
  }

  async #restart(death: Error): Promise<void> {
    let cause = death;
    while (this.#link === null && this.#refusal === null) {
      if (!this.#mayRestart()) {
        this.#refusal = unavailable(
          `the writing thread died more than ${maxRestarts} times within a minute (last: ${cause.message}); restart the server`,
          cause,
        );
        return;
      }
      try {
        const problem = this.#parts.place.look();
        // Opening it would make an empty database there.
        if (problem !== null) throw unavailable(problem);
        this.#link = await this.#newLink();
      } catch (error) {
        cause = error instanceof Error ? error : new Error(String(error));
      }
    }
  }

  #mayRestart(): boolean {
    const now = this.#parts.clock.steady();
    this.#restarts = this.#restarts.filter((at) => now - at < restartWindowMs);
    if (this.#restarts.length >= maxRestarts) return false;
    this.#restarts.push(now);
    return true;
  }
}
