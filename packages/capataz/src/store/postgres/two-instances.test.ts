/** Two stores on one schema, as two servers are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  changeOf,
  claim,
  commit,
  dispatching,
  early,
  ending,
  newJob,
  read,
  signalOf,
  store1,
} from '../../testing/store-suite-kit.ts';
import { until } from '../../testing/until.ts';
import type { ChangeOutcome, JobEvent, Store } from '../contract.ts';
import { Schemas } from './fixtures/schemas.ts';

const schemas = Schemas.ofThisFile();

async function withTwo(
  body: (one: Store, two: Store, schema: string) => Promise<void>,
): Promise<void> {
  const schema = schemas.newName();
  // Both find an empty schema: one of them makes the tables.
  const [one, two] = await Promise.all([schemas.open(schema), schemas.open(schema)]);
  try {
    await body(one, two, schema);
  } finally {
    await Promise.all([one.close(), two.close()]);
    await schemas.drop(schema);
  }
}

function typesOf(outcomes: readonly ChangeOutcome[]): string[] {
  return outcomes.map(({ type }) => type).sort();
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test('A-60 claims of two instances never hand out one task twice', () =>
  withTwo(async (one, two) => {
    const jobs = numbers(60).map((index) => dispatching(`j${index}`));
    await commit(one, ...jobs);
    const claims = await Promise.all(
      numbers(40).map((index) => claim(index % 2 === 0 ? one : two, { max: 2 })),
    );
    const ids = claims.flatMap(({ tasks }) => tasks.map(({ id }) => id));
    assert.equal(new Set(ids).size, ids.length);
    // A task that the other one looked at just then is passed over, not lost.
    for (let more = 1; more > 0; ) {
      const found = await claim(one, { max: 9 });
      more = found.tasks.length;
      ids.push(...found.tasks.map(({ id }) => id));
    }
    assert.equal(new Set(ids).size, 60);
    assert.equal(ids.length, 60);
  }));

test('A-60 both instances write into the book of an ended job, and each entry has its own number', () =>
  withTwo(async (one, two, schema) => {
    const job = await store1(one, changeOf(newJob('a')));
    await store1(one, ending(job));
    const holder = await schemas.pool.connect();
    try {
      await holder.query(`BEGIN; SELECT id FROM ${schema}.ended_jobs FOR UPDATE`);
      const notes = [{ jobId: 'a', entries: [{ type: 'signal_refused' as const }] }];
      const both = [one, two].map((store) => store.commit({ notes }));
      await until(async () => {
        const { rows } = await schemas.pool.query(
          `SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`,
          [`capataz ${schema}`],
        );
        return rows.length === 2;
      });
      await holder.query('COMMIT');
      await Promise.all(both);
    } finally {
      holder.release();
    }
    const numbersOf = (await one.history('a', 0, 99)).map(({ seq }) => seq);
    assert.deepEqual(
      numbersOf,
      numbersOf.map((_, index) => index + 1),
    );
  }));

test('A-60 of two changes decided on one version one is stored, and the other is stale', () =>
  withTwo(async (one, two) => {
    for (const id of numbers(10).map((index) => `j${index}`)) {
      const job = await store1(one, changeOf(newJob(id)));
      const [first, second] = await Promise.all([
        commit(one, changeOf({ ...job, state: 'one' })),
        commit(two, changeOf({ ...job, state: 'two' })),
      ]);
      assert.deepEqual(typesOf([...first, ...second]), ['done', 'stale']);
      const stored = await read(one, id);
      assert.equal(stored.version, 2);
      assert.equal(stored.state, first[0]?.type === 'done' ? 'one' : 'two');
    }
  }));

test('S-48 batches that name the same jobs in other orders wait for each other and all get through', () =>
  withTwo(async (one, two) => {
    const jobs = await commit(one, ...numbers(20).map((index) => changeOf(newJob(`j${index}`))));
    const stored = jobs.flatMap((outcome) => (outcome.type === 'done' ? [outcome.job] : []));
    const signals = (name: string) => stored.map((job) => early(job, signalOf(name)));
    const outcomes = await Promise.all([
      commit(one, ...signals('s1')),
      commit(two, ...signals('s2').reverse()),
      commit(one, ...signals('s3').reverse()),
      commit(two, ...signals('s4')),
    ]);
    assert.deepEqual(new Set(outcomes.flat().map(({ type }) => type)), new Set(['done']));
    assert.equal((await two.history('j7', 0, 99)).length, 5);
    assert.deepEqual((await two.inbox('j7')).map(({ id }) => id).sort(), ['s1', 's2', 's3', 's4']);
  }));

test('S-10 one idempotency key asked for at two instances makes one job', () =>
  withTwo(async (one, two) => {
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      const ask = (id: string) => ({
        change: changeOf(newJob(id)),
        idempotency: { key, bodyHash: 'body' },
      });
      const [first, second] = await Promise.all([
        commit(one, ask(`${key}1`)),
        commit(two, ask(`${key}2`)),
      ]);
      assert.deepEqual(typesOf([...first, ...second]), ['done', 'duplicate']);
    }
    assert.equal((await one.jobs({ limit: 99 })).length, 5);
  }));

test('A-60 one id that two instances give makes one job', () =>
  withTwo(async (one, two) => {
    for (const id of numbers(5).map((index) => `j${index}`)) {
      const outcomes = await Promise.all([
        commit(one, changeOf(newJob(id))),
        commit(two, changeOf(newJob(id))),
      ]);
      assert.deepEqual(typesOf(outcomes.flat()), ['done', 'exists']);
    }
  }));

test('S-64 the last share of a key goes to one instance', () =>
  withTwo(async (one, two) => {
    const taking = (id: string) =>
      changeOf(newJob(id), {
        reservations: [{ key: 'k', amount: 1, limit: 3, expiresAfterMs: null, until: 'job' }],
      });
    const outcomes = await Promise.all(
      numbers(10).map((index) => commit(index % 2 === 0 ? one : two, taking(`j${index}`))),
    );
    const found = typesOf(outcomes.flat());
    assert.equal(found.filter((type) => type === 'done').length, 3);
    assert.equal(found.filter((type) => type === 'limit').length, 7);
  }));

async function allEvents(store: Store, from: number): Promise<JobEvent[]> {
  const found: JobEvent[] = [];
  for (let after = from; ; ) {
    const { events, position } = await store.events(after, 7);
    if (position === after) return found;
    found.push(...events);
    after = position;
  }
}

test('S-46 a reader of all jobs misses nothing that two instances write meanwhile', () =>
  withTwo(async (one, two) => {
    let isOver = false;
    const seen: JobEvent[] = [];
    const reading = (async () => {
      while (!isOver) seen.push(...(await allEvents(two, seen.at(-1)?.position ?? 0)));
    })();
    const writing = [one, two].map(async (store, which) => {
      for (const round of numbers(30)) {
        const ids = numbers(1 + (round % 4)).map((index) => `j${which}-${round}-${index}`);
        const jobs = await Promise.all(ids.map((id) => store1(store, changeOf(newJob(id)))));
        await commit(store, ...jobs.map((job) => ending(job)));
      }
    });
    await Promise.all(writing);
    isOver = true;
    await reading;
    seen.push(...(await allEvents(two, seen.at(-1)?.position ?? 0)));
    assert.deepEqual(seen, await allEvents(one, 0));
    const jobs = await one.jobs({ limit: 999 });
    assert.equal(seen.length, jobs.length * 3);
  }));

test('S-46 what was written behind a commit that still runs is held back until that one ends', () =>
  withTwo(async (one, _, schema) => {
    await store1(one, changeOf(newJob('before')));
    const other = await schemas.pool.connect();
    try {
      await other.query(`BEGIN; SET LOCAL search_path = ${schema}; SELECT fence_history()`);
      await other.query("SELECT nextval('positions')");
      await store1(one, changeOf(newJob('behind')));
      const ids = async () => (await allEvents(one, 0)).map(({ jobId }) => jobId);
      assert.deepEqual(await ids(), ['before']);
      await other.query('COMMIT');
      assert.deepEqual(await ids(), ['before', 'behind']);
    } finally {
      other.release();
    }
  }));

/** Counts calls, and resolves when so many have come. */
class Calls {
  count = 0;
  #waiting: { count: number; resolve: () => void }[] = [];
  readonly listener = (): void => {
    this.count += 1;
    const isThere = ({ count }: { count: number }): boolean => count <= this.count;
    for (const { resolve } of this.#waiting.filter(isThere)) resolve();
    this.#waiting = this.#waiting.filter((waiting) => !isThere(waiting));
  };

  async until(count: number): Promise<void> {
    if (this.count >= count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }
}

test('S-48 a commit wakes the other instance, once a batch, and not the one that made it', () =>
  withTwo(async (one, two) => {
    const [own, others] = [new Calls(), new Calls()];
    one.subscribe(own.listener);
    const end = two.subscribe(others.listener);
    // Who begins to listen looks at once.
    await Promise.all([own.until(1), others.until(1)]);
    await Promise.all(['a', 'b', 'c'].map((id) => commit(one, changeOf(newJob(id)))));
    await others.until(2);
    await commit(one, changeOf({ ...(await read(one, 'a')), state: 'merge' }));
    await others.until(3);
    await commit(two, changeOf(newJob('d')));
    await own.until(2);
    end();
    await commit(one, changeOf(newJob('e')));
    assert.deepEqual([own.count, others.count], [2, 3]);
  }));

test('a lost connection to the one that listens is replaced, and it looks at once', () =>
  withTwo(async (one, two, schema) => {
    const calls = new Calls();
    two.subscribe(calls.listener);
    await calls.until(1);
    await schemas.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = $1 AND query LIKE 'LISTEN%'`,
      [`capataz ${schema}`],
    );
    await calls.until(2);
    await commit(one, changeOf(newJob('a')));
    await calls.until(3);
  }));

test('a store that is closed while its listener still connects is closed', () =>
  withTwo(async (one) => {
    one.subscribe(() => undefined);
    await one.close();
  }));
