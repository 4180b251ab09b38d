import type { Work, WorkOutcome } from '../contract.ts';
import { unavailable } from '../refusals.ts';
import { applyWork } from './apply.ts';
import type { Connections, Write } from './connections.ts';
import { load } from './load.ts';
import { Touched } from './touched.ts';
import { writesOf } from './write-back.ts';

interface Asked {
  readonly work: Work;
  readonly resolve: (outcome: WorkOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** A transaction holds its locks until it ends: what waits beyond this goes with the next one. */
const maxTogether = 500;
export interface WriterParts {
  readonly writing: Connections;
  /** The instant that a test gives; null: the server's own. */
  readonly givenNow: () => number | null;
  /** By which other instances know whose commit they are told of. */
  readonly id: string;
}

/** A row that needs new room on the disk, and so is refused wherever the store's own would be. */
const trial: readonly Write[] = [
  { name: 'trial-insert', parameters: [] },
  { name: 'trial-delete', parameters: [] },
];

/** What waits while a commit runs shares the next one; nothing waits for company (S-4). */
export class Writer {
  readonly #connections: Connections;
  readonly #givenNow: () => number | null;
  readonly #told: Write;
  #asked: Asked[] = [];
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor({ writing, givenNow, id }: WriterParts) {
    this.#connections = writing;
    this.#givenNow = givenNow;
    this.#told = { name: 'notify', parameters: [id] };
  }

  commit(work: Work): Promise<WorkOutcome> {
    if (this.#isClosed) return Promise.reject(unavailable('it is closed'));
    return new Promise((resolve, reject) => {
      this.#asked.push({ work, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when what was asked so far is answered. */
  async settled(): Promise<void> {
    if (this.#running === null) return;
    const last = Promise.withResolvers<void>();
    this.#asked.push({ work: {}, resolve: () => last.resolve(), reject: () => last.resolve() });
    await last.promise;
  }

  /** Finishes what was asked, and takes nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // What is asked in the same turn of the event loop shares the first commit already.
    await Promise.resolve();
    while (this.#asked.length > 0) await this.#together(this.#take());
    // In the same turn as the last look: what is asked from now on starts another run.
    this.#running = null;
  }

  #take(): Asked[] {
    let size = 0;
    const end = this.#asked.findIndex(({ work }) => {
      size += sizeOf(work);
      return size > maxTogether;
    });
    const count = end === -1 ? this.#asked.length : Math.max(1, end);
    return this.#asked.splice(0, count);
  }

  /** What can't be stored fails alone, not those that travel with it. */
  async #together(batch: readonly Asked[]): Promise<void> {
    try {
      const outcomes = await this.#store(batch.map(({ work }) => work));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) reject(new Error('a commit gave too few outcomes'));
        else resolve(outcome);
      }
    } catch (error) {
      const [only] = batch;
      const isForAll =
        error instanceof Error && 'code' in error && error.code === 'STORE_UNAVAILABLE';
      if (isForAll || only === undefined || batch.length === 1) {
        for (const { reject } of batch) reject(error);
        return;
      }
      for (const asked of batch) await this.#together([asked]);
    }
  }

  #store(works: readonly Work[]): Promise<WorkOutcome[]> {
    const touched = new Touched(works);
    return this.#connections.transaction(async (session) => {
      const set = await load(session, touched, this.#givenNow());
      const result = works.map((work) => applyWork(set, work));
      const writes = works.every((work) => sizeOf(work) === 1) ? trial : writesOf(set);
      // One message a batch, whatever is in it.
      return { result, writes: writes.length === 0 || writes === trial ? writes : [...writes, this.#told] };
    });
  }
}

function sizeOf({
  changes = [],
  starts = [],
  notes = [],
  letters = [],
  claims = [],
}: Work): number {
  const handOuts = claims.reduce((sum, { max }) => sum + max, 0);
  return 1 + changes.length + starts.length + notes.length + letters.length + handOuts;
}
