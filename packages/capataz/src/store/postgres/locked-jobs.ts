import type { Work } from '../contract.ts';
import type { Connections } from './connections.ts';
import { Touched } from './touched.ts';

type Names = Pick<Touched, 'jobs' | 'addresses'>;

const none: Names = { jobs: new Set(), addresses: new Set() };

/**
 * Jobs that somebody else keeps locked: a server that was frozen in the middle of a commit, or the session
 * of an operator. A commit that waited for one would keep everything waiting that travels with it.
 */
export class LockedJobs {
  readonly #connections: Connections;
  /** The addresses are those under which a letter reaches such a job. */
  #known: Names = none;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  get areThere(): boolean {
    return this.#known.jobs.size > 0;
  }

  /** Looks which of these works touch any, since they have waited in vain. */
  async learn(works: readonly Work[]): Promise<void> {
    // Twice: a commit of our own, or a healthy neighbour's, has let go of its jobs by then.
    const locked = await this.#lockedAmong(new Touched(works));
    const { jobs, addresses } = await this.#lockedAmong(locked);
    this.#known = {
      jobs: jobs.union(this.#known.jobs),
      addresses: addresses.union(this.#known.addresses),
    };
  }

  /** Forgets those that are free again. */
  async lookAgain(): Promise<void> {
    this.#known = await this.#lockedAmong(this.#known);
  }

  isTouchedBy(work: Work): boolean {
    const { jobs, addresses } = new Touched([work]);
    const isFree = jobs.isDisjointFrom(this.#known.jobs);
    return !isFree || !addresses.isDisjointFrom(this.#known.addresses);
  }

  async #lockedAmong({ jobs, addresses }: Names): Promise<Names> {
    const names = [[...jobs], [...addresses]] as const;
    const rows = await this.#connections.read<{ id: string; address: string | null }>(
      'jobs-locked',
      ...names,
    );
    return {
      jobs: new Set(rows.map(({ id }) => id)),
      addresses: new Set(rows.flatMap(({ address }) => address ?? [])),
    };
  }
}
