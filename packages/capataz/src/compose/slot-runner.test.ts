import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep, transition } from '../core/action.ts';
import { blueprint } from '../core/blueprint.ts';
import { isFinal } from '../core/status.ts';
import { startWorld, type World } from '../engine/fixtures.ts';
import { planOf, type Schedule } from '../schedule/schedule.ts';
import { type Log, silentLog } from '../std/log.ts';
import { SlotRunner } from './slot-runner.ts';

const minute = 60_000;

/** Lasts as long as its input says. */
const lasting = blueprint({
  name: 'lasting',
  version: 1,
  states: {
    begin: {
      start: true,
      to: ['done'],
      handle: ({ input }) => {
        const { lasts } = input as { lasts?: string };
        return lasts === undefined ? transition('done') : sleep(lasts, 'done');
      },
    },
    done: { end: true },
  },
});

const everyMinute: Schedule = {
  name: 'tick',
  start: { blueprint: 'lasting', input: {}, attributes: { team: 'ops' } },
  rule: { every: '1m' },
  zone: 'UTC',
  jitterMs: 0,
  catchUp: { policy: 'last', limit: 100, toleranceMs: minute },
  overlap: 'allow',
  blackouts: [],
  inBlackout: 'skip',
  isPaused: false,
};

class Slots {
  readonly lines: string[] = [];
  readonly #world: World;
  readonly #log: Log = {
    ...silentLog,
    warn: (message) => this.lines.push(message),
    error: (message) => this.lines.push(message),
  };

  constructor(world: World) {
    this.#world = world;
  }

  runner(fields: Partial<Schedule> = {}): SlotRunner {
    const schedule = { ...everyMinute, ...fields };
    const { clock, engine } = this.#world;
    const runner = new SlotRunner({
      schedule,
      plan: planOf(schedule, {}),
      client: 'client-1',
      jobs: engine.jobs,
      clock,
      log: this.#log,
    });
    runner.start();
    return runner;
  }

  /** Minutes of the slots that have a job, ascending: twice where there are two. */
  async started(): Promise<number[]> {
    return (await this.#jobs()).map(({ slot }) => slot).sort((a, b) => a - b);
  }

  async open(): Promise<number[]> {
    const jobs = await this.#jobs();
    return jobs.filter(({ status }) => !isFinal(status)).map(({ slot }) => slot);
  }

  async #jobs() {
    const jobs = await this.#world.truth.jobs({ attributes: { schedule: 'tick' }, limit: 1_000 });
    return jobs.map(({ status, options: { attributes } }) => ({
      status,
      slot: (Date.parse(String(attributes.slot)) - Date.UTC(2026, 0, 1)) / minute,
    }));
  }
}

async function begin(): Promise<{ world: World; slots: Slots }> {
  const world = await startWorld({ blueprints: [lasting] });
  return { world, slots: new Slots(world) };
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, place) => place + 1);

test('A-44: each slot starts one job, whose attributes say which', async () => {
  const { world, slots } = await begin();
  const runner = slots.runner();
  await world.advance(3 * minute + 1);
  assert.deepEqual(await slots.started(), [1, 2, 3]);
  const [job] = await world.truth.jobs({ attributes: { team: 'ops' }, limit: 1 });
  assert.equal(job?.options.attributes.schedule, 'tick');
  assert.equal(job?.client, 'client-1');
  await runner.stop();
  await world.advance(5 * minute);
  assert.deepEqual(await slots.started(), [1, 2, 3]);
});

test('A-61, B-047: two runners on one store start each slot once, and either may die', async () => {
  const { world, slots } = await begin();
  let [one, other] = [slots.runner(), slots.runner()];
  for (let at = 0; at < 60; at += 1) {
    const leap = (at * 7_919) % minute;
    await world.advance(leap);
    await one.stop();
    [one, other] = [other, slots.runner()];
    await world.advance(minute - leap);
  }
  assert.deepEqual(await slots.started(), upTo(60));
  assert.deepEqual(slots.lines, []);
});

test('B-047, B-049: over kills of the server at any time each slot has one job', async () => {
  const { world, slots } = await begin();
  slots.runner();
  for (let at = 0; at < 30; at += 1) {
    await world.advance((at * 7_919) % minute);
    await world.restart();
    // The runner of the dead process goes on in this test, as a frozen process may: it harms nothing.
    slots.runner();
    await world.advance(minute - ((at * 7_919) % minute));
  }
  assert.deepEqual(await slots.started(), upTo(30));
});

test('what was missed while no server ran is caught up with as the schedule says', async () => {
  for (const [policy, expected] of [
    ['skip', [1, 2, 10]],
    ['last', [1, 2, 9, 10]],
    ['all', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ] as const) {
    const { world, slots } = await begin();
    const catchUp = { policy, limit: 100, toleranceMs: 10_000 };
    const runner = slots.runner({ catchUp });
    await world.advance(2 * minute + 1);
    await runner.stop();
    await world.advance(7.5 * minute);
    await world.restart();
    slots.runner({ catchUp });
    await world.advance(minute);
    assert.deepEqual(await slots.started(), expected, policy);
  }
});

test('a slot that was started before the server died is not started again', async () => {
  const { world, slots } = await begin();
  slots.runner();
  // The commit is done, and its answer never comes.
  world.stopAnswerOf('commit');
  await world.advance(minute + 1);
  await world.restart();
  slots.runner();
  await world.advance(minute);
  assert.deepEqual(await slots.started(), [1, 2]);
});

test('while the store is down a slot waits, and starts when it is back', async () => {
  const { world, slots } = await begin();
  slots.runner();
  await world.advance(30_000);
  world.isStoreDown = true;
  await world.advance(50_000);
  assert.ok(slots.lines.includes('a slot could not be started; again soon'));
  world.isStoreDown = false;
  await world.advance(40_000);
  assert.deepEqual(await slots.started(), [1, 2]);
});

test('B-050: overlaps: beside it, left out, one after the other, or in its place', async () => {
  for (const [overlap, started, open] of [
    ['allow', [1, 2, 3, 4], [4, 3, 2]],
    ['skip', [1, 4], [4]],
    ['queue', [1, 2, 3, 4], [4, 3, 2]],
    ['cancel_previous', [1, 2, 3, 4], [4]],
  ] as const) {
    const { world, slots } = await begin();
    const start = { ...everyMinute.start, input: { lasts: '2m30s' } };
    slots.runner({ overlap, start });
    slots.runner({ overlap, start });
    await world.advance(4 * minute + 1);
    assert.deepEqual(await slots.started(), started, overlap);
    assert.deepEqual(await slots.open(), open, overlap);
    // Each runner tells of slots 2 and 3; that slot 1 has its job already is nothing to tell.
    assert.equal(slots.lines.length, overlap === 'skip' ? 4 : 0, overlap);
  }
});

test('a slot whose job is refused is told, and the next one comes', async () => {
  const { world, slots } = await begin();
  slots.runner({ start: { ...everyMinute.start, blueprint: 'gone' } });
  await world.advance(2 * minute + 1);
  const refused = 'a slot has no job: it was refused';
  assert.deepEqual(slots.lines, [refused, refused]);
});

test('a wall clock that is set forward or back makes no slot twice', async () => {
  const { world, slots } = await begin();
  slots.runner();
  await world.advance(2 * minute + 1);
  world.clock.step(5 * minute);
  await world.advance(minute);
  world.clock.step(-6 * minute);
  await world.advance(9 * minute);
  const started = await slots.started();
  assert.deepEqual([...new Set(started)], started);
  assert.equal(started.at(-1), 11);
});
