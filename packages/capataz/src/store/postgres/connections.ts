import type { Pool, PoolClient } from 'pg';
import { isLocked, isLost, outage } from '../../postgres/errors.ts';
import { busy, unavailable, uncertain } from '../refusals.ts';
import { withoutConflict } from './errors.ts';
import { type Entrance, type Parameter, Session } from './statements.ts';

/** `one`: all statements see one state of the store. `each`: each sees what was committed before it. */
const reading = {
  one: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  each: 'BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY',
} as const;

type Fate = 'committed' | 'aborted' | 'in progress' | 'unknown';
/** Each time the server waits a tenth of a second with its answer. */
const maxFateAsked = 50;
/** What ended one connection has often ended those beside it, too. */
const maxFateLosses = 3;

/** How a piece of work uses connections. Whatever the server's trouble, it is STORE_UNAVAILABLE; a lock is STORE_BUSY. */
export class Connections {
  readonly #pool: Pool;
  readonly #entrance: Entrance | null;
  #losses = 0;
  /** How many connections had been lost when this one was opened. */
  readonly #lossesBefore = new WeakMap<PoolClient, number>();
  #isClosed = false;

  /** @param entrance of transactions over connections that a pooler lends; null: they are ours */
  constructor(pool: Pool, entrance: Entrance | null) {
    this.#pool = pool;
    this.#entrance = entrance;
  }

  /** One statement that reads. */
  async read<Row>(name: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    return this.#use((session) => single<Row>(session, name, parameters), unavailable);
  }

  /** One statement that writes: without an answer nobody knows whether it did. */
  async write<Row>(name: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    const ask = (session: Session): Promise<Row[]> => single<Row>(session, name, parameters);
    return withoutConflict(() => this.#use(ask, uncertain));
  }

  /** Several statements that read. */
  async together<T>(
    read: (session: Session) => Promise<T>,
    states: keyof typeof reading = 'one',
  ): Promise<T> {
    return this.#use(async (session) => {
      const [, result] = await Promise.all([session.begin(reading[states]), read(session)]);
      await session.commit();
      return result;
    }, unavailable);
  }

  /**
   * A transaction: `prepare` reads and locks, and gives the writes, all of which travel with the
   * commit. Where another commit got in the way it is called again. Where it fails nothing is stored;
   * where the commit has no answer the server is asked what became of it, and if it doesn't say that is
   * said.
   * @param onSent the writes are on their way
   */
  async transaction<T>(
    prepare: (session: Session) => Promise<Prepared<T>>,
    onSent: () => void = () => undefined,
  ): Promise<T> {
    const attempt = async (session: Session): Promise<T> => {
      const { result, writes } = await prepare(session);
      prepared = { result };
      const finished = finish(session, writes);
      onSent();
      await finished;
      return result;
    };
    let prepared: { readonly result: T } | null = null;
    return withoutConflict(async () => {
      try {
        return await this.#use(attempt, unavailable);
      } catch (error) {
        if (!(error instanceof CommitUnknown)) throw error;
        const fate = await this.#fateOf(error.transaction);
        if (fate === 'committed' && prepared !== null) return prepared.result;
        throw (fate === 'aborted' ? unavailable : uncertain)(error.message, error.cause);
      }
    });
  }

  /** What has become of a transaction, which its server process may still be busy with. */
  async #fateOf(transaction: string | null): Promise<Fate> {
    if (transaction === null) return 'unknown';
    let losses = 0;
    for (let asked = 0; asked < maxFateAsked && losses < maxFateLosses; asked += 1) {
      try {
        const [row] = await this.read<{ fate: Fate | null }>('transaction-fate', transaction);
        if (row?.fate !== 'in progress') return row?.fate ?? 'unknown';
      } catch {
        losses += 1;
      }
    }
    return 'unknown';
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.end();
  }

  async #use<T>(work: (session: Session) => Promise<T>, refuse: typeof unavailable): Promise<T> {
    const client = await this.#connect();
    let broken: Error | null = null;
    const onError = (error: Error): void => {
      broken ??= error;
    };
    client.on('error', onError);
    const session = new Session(client, this.#entrance);
    try {
      return await work(session);
    } catch (failure) {
      const error = session.refusal ?? failure;
      if (error instanceof CommitUnknown) {
        broken ??= error;
        throw error;
      }
      if (isLost(error)) broken ??= error as Error;
      else await client.query('ROLLBACK').catch(onError);
      if (isLocked(error)) throw busy(error);
      const why = outage(error);
      // Where the server has answered with an error, a single statement has changed nothing.
      if (why !== null) throw (broken === null ? unavailable : refuse)(why, error);
      throw error;
    } finally {
      client.off('error', onError);
      if (broken !== null) this.#losses += 1;
      client.release(broken !== null);
    }
  }

  /** One that was there when another was lost has seen the same restart, or the same dead network. */
  async #connect(): Promise<PoolClient> {
    if (this.#isClosed) throw unavailable('it is closed');
    try {
      for (;;) {
        const client = await this.#pool.connect();
        const losses = this.#lossesBefore.get(client) ?? this.#losses;
        this.#lossesBefore.set(client, losses);
        if (losses === this.#losses) return client;
        client.release(true);
      }
    } catch (error) {
      const why = outage(error);
      throw why === null ? error : unavailable(why, error);
    }
  }
}

/** A statement is a transaction by itself, unless the connection was lent for one. */
async function single<Row>(
  session: Session,
  name: string,
  parameters: readonly Parameter[],
): Promise<Row[]> {
  if (!session.isLent) return session.all<Row>(name, ...parameters);
  const asked = [session.begin(), session.all<Row>(name, ...parameters), session.commit()] as const;
  return (await Promise.all(asked))[1];
}

export interface Prepared<T> {
  readonly result: T;
  readonly writes: readonly Write[];
}

export interface Write {
  readonly name: string;
  readonly parameters: readonly Parameter[];
}

/**
 * Writes and COMMIT in one message. A failed write makes the server roll back at COMMIT, so that what
 * is stored is all or nothing.
 * @throws CapatazError STORE_UNAVAILABLE that says so where it is unknown which.
 */
async function finish(session: Session, writes: readonly Write[]): Promise<void> {
  // Its answer is here before that of COMMIT, and says what to ask for if that one doesn't come.
  const named = writes.length === 0 ? [] : [session.all<{ id: string }>('transaction-id')];
  let transaction: string | null = null;
  named[0]?.then(([row]) => (transaction = row?.id ?? null)).catch(() => undefined);
  const written = writes.map(({ name, parameters }) => session.all(name, ...parameters));
  const committed = session.commit();
  const [commit, ...results] = await Promise.allSettled([committed, ...named, ...written]);
  if (commit.status === 'rejected' && isLost(commit.reason)) {
    const failed = results.find(({ status }) => status === 'rejected');
    const isEarlier = failed?.status === 'rejected' && !isLost(failed.reason);
    throw isEarlier ? failed.reason : new CommitUnknown(transaction, commit.reason);
  }
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  if (commit.status === 'rejected') throw commit.reason;
  if (commit.value !== 'COMMIT') throw new Error(`COMMIT was answered with ${commit.value}`);
}

/** The connection was lost while the commit was on its way. */
class CommitUnknown extends Error {
  readonly transaction: string | null;

  constructor(transaction: string | null, cause: unknown) {
    super('the connection was lost during the commit', { cause });
    this.transaction = transaction;
  }
}
