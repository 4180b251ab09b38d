import type { Connections } from './connections.ts';

/**
 * Positions of a partition of the history. One is made for about a day: fewer rows are not worth a table of
 * their own, and of more the indexes would no longer lie in memory.
 */
const smallest = 1_000_000;
const largest = 100_000_000;
/** So often it is looked whether there is one ahead; whoever runs into the end makes one at once. */
const rowsBetweenLooks = 100_000;

/** Partitions of the history, made before they are needed and dropped when all in them is forgotten. */
export class Partitions {
  readonly #connections: Connections;
  #rows = 0;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** So many rows were written. */
  count(rows: number): void {
    this.#rows += rows;
    if (this.#rows < rowsBetweenLooks) return;
    this.#rows = 0;
    // Without an answer nothing is lost: the next look, or the end of the partition, makes up for it.
    this.extend().catch(() => undefined);
  }

  async extend(): Promise<void> {
    await this.#connections.write('history-extend', smallest, largest);
  }

  /** Those that lie behind all that is written, the oldest first, up to one that is in use. */
  async dropEmpty(): Promise<void> {
    for (;;) {
      const [row] = await this.#connections.write<{ dropped: boolean }>('history-drop-empty');
      if (row?.dropped !== true) return;
    }
  }
}
