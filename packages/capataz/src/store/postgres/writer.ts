import { CapatazError } from '../../protocol/errors.ts';
import type { Work, WorkOutcome } from '../contract.ts';
import { busy, unavailable } from '../refusals.ts';
import type { Announcer } from './announcer.ts';
import { applyWork } from './apply.ts';
import type { Connections, Write } from './connections.ts';
import { isBeyondPartitions } from './errors.ts';
import { load } from './load.ts';
import type { LockedJobs } from './locked-jobs.ts';
import type { Partitions } from './partitions.ts';
import type { Session } from './statements.ts';
import { Touched } from './touched.ts';
import { writesOf } from './write-back.ts';

interface Asked {
  readonly work: Work;
  readonly resolve: (outcome: WorkOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** A transaction holds its locks until it ends: what waits beyond this goes with the next one. */
const maxTogether = 500;
/** One is read and decided while two are written: with one that is written a sixth fewer jobs/s, with three no more. */
export const maxUnderWay = 3;

export interface WriterParts {
  readonly writing: Connections;
  /** The instant that a test gives; null: the server's own. */
  readonly givenNow: () => number | null;
  readonly partitions: Partitions;
  readonly announcer: Announcer;
  readonly locked: LockedJobs;
}

type WhatIfLocked = 'go around' | 'refuse';

/** A row that needs new room on the disk, and so is refused wherever the store's own would be. */
const trial: readonly Write[] = [
  { name: 'trial-insert', parameters: [] },
  { name: 'trial-delete', parameters: [] },
];

/**
 * What waits while a commit runs shares the next one; nothing waits for company (S-4). The next one begins
 * when the writes of the last have been sent, as another instance's might: the same locks keep them apart.
 */
export class Writer {
  readonly #connections: Connections;
  readonly #givenNow: () => number | null;
  readonly #announcer: Announcer;
  readonly #partitions: Partitions;
  readonly #locked: LockedJobs;
  #asked: Asked[] = [];
  #running: Promise<void> | null = null;
  readonly #underWay = new Set<Promise<void>>();
  #isClosed = false;

  constructor({ writing, givenNow, partitions, announcer, locked }: WriterParts) {
    this.#connections = writing;
    this.#givenNow = givenNow;
    this.#partitions = partitions;
    this.#locked = locked;
    this.#announcer = announcer;
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
    const last = Promise.withResolvers<void>();
    if (this.#running === null) last.resolve();
    else
      this.#asked.push({ work: {}, resolve: () => last.resolve(), reject: () => last.resolve() });
    await Promise.all([...this.#underWay, last.promise]);
  }

  /** Finishes what was asked, and takes nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    await Promise.all(this.#underWay);
    await this.#announcer.settled();
  }

  async #run(): Promise<void> {
    // What is asked in the same turn of the event loop shares the first commit already.
    await Promise.resolve();
    while (this.#asked.length > 0) {
      if (this.#underWay.size < maxUnderWay) await this.#begin(this.#take());
      else await Promise.race(this.#underWay);
    }
    // In the same turn as the last look: what is asked from now on starts another run.
    this.#running = null;
  }

  /** Resolves when the next one may begin. */
  async #begin(batch: readonly Asked[]): Promise<void> {
    const sent = Promise.withResolvers<void>();
    const stored = this.#locked.areThere
      ? this.#around(batch, sent.resolve, this.#locked.lookAgain())
      : this.#together(batch, sent.resolve);
    const end = stored.finally(() => {
      this.#underWay.delete(end);
      sent.resolve();
    });
    this.#underWay.add(end);
    await sent.promise;
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
  async #together(
    batch: readonly Asked[],
    onSent: () => void,
    whatIfLocked: WhatIfLocked = 'go around',
  ): Promise<void> {
    const works = batch.map(({ work }) => work);
    try {
      const outcomes = await this.#store(works, onSent);
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) reject(new Error('a commit gave too few outcomes'));
        else resolve(outcome);
      }
    } catch (error) {
      const code = error instanceof CapatazError ? error.code : null;
      const isLocked = code === 'STORE_BUSY';
      if (isLocked && whatIfLocked === 'go around')
        return this.#around(batch, onSent, this.#locked.learn(works), 'refuse');
      if (isLocked || code === 'STORE_UNAVAILABLE' || batch.length === 1) refuse(batch, error);
      else for (const asked of batch) await this.#together([asked], onSent);
    }
  }

  /** Refuses what touches a job that is known to be locked, and stores the rest. */
  async #around(
    batch: readonly Asked[],
    onSent: () => void,
    look: Promise<void>,
    whatIfLocked: WhatIfLocked = 'go around',
  ): Promise<void> {
    try {
      await look;
    } catch (error) {
      return refuse(batch, error);
    }
    const stuck = batch.filter(({ work }) => this.#locked.isTouchedBy(work));
    refuse(stuck, busy());
    const free = batch.filter((asked) => !stuck.includes(asked));
    if (free.length > 0) await this.#together(free, onSent, whatIfLocked);
  }

  async #store(works: readonly Work[], onSent: () => void): Promise<WorkOutcome[]> {
    try {
      return await this.#attempt(works, onSent);
    } catch (error) {
      if (!isBeyondPartitions(error)) throw error;
      await this.#partitions.extend();
      return this.#attempt(works, onSent);
    }
  }

  async #attempt(works: readonly Work[], onSent: () => void): Promise<WorkOutcome[]> {
    const touched = new Touched(works);
    let rows = 0;
    let isWritten = false;
    const prepare = async (session: Session) => {
      const set = await load(session, touched, this.#givenNow());
      const result = works.map((work) => applyWork(set, work));
      const isTrial = works.every((work) => sizeOf(work) === 1);
      const writes = isTrial ? trial : writesOf(set);
      rows = set.data.bookRows.length;
      isWritten = !isTrial && writes.length > 0;
      return { result, writes };
    };
    // Also where nobody knows whether it is stored.
    const outcomes = await this.#connections.transaction(prepare, onSent).finally(() => {
      if (isWritten) this.#announcer.announce();
    });
    this.#partitions.count(rows);
    return outcomes;
  }
}

function refuse(batch: readonly Asked[], error: unknown): void {
  for (const { reject } of batch) reject(error);
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
