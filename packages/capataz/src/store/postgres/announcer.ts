import type { Connections } from './connections.ts';

/**
 * Tells the other instances of commits, behind them and over another connection: a commit that notifies
 * keeps all others of the database that do from being made durable together with it, which cost four
 * writers a third to a half. Who dies in between has told nobody; the others look anyway.
 */
export class Announcer {
  readonly #connections: Connections;
  readonly #id: string;
  #isWanted = false;
  #running: Promise<void> | null = null;

  /** @param id by which other instances know whose commit they are told of */
  constructor(connections: Connections, id: string) {
    this.#connections = connections;
    this.#id = id;
  }

  /** What is to be told while one message is under way goes with the next. */
  announce(): void {
    this.#isWanted = true;
    this.#running ??= this.#run();
  }

  /** Resolves when all is told. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      // Without a connection there is nobody to be told, and whoever comes later looks.
      await this.#connections.write('notify', this.#id).catch(() => undefined);
    }
    this.#running = null;
  }
}
