import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../std/log.ts';
import { settle, VirtualClock } from '../testing/virtual-clock.ts';
import type { ScheduleDefinition } from './composition.ts';
import { createSchedules, type Schedule } from './schedules.ts';

const server = 'the server';

/** Runs that begin at known times and end when the test says so. */
class Runs {
  readonly clock = new VirtualClock({ now: 0 });
  readonly began: number[] = [];
  readonly failures: string[] = [];
  #end: (error?: Error) => void = () => {};
  signal: AbortSignal | null = null;

  schedule(fields: Partial<ScheduleDefinition<string>>): Schedule<string> {
    const log = {
      ...silentLog,
      error: (message: string) => {
        this.failures.push(message);
      },
    };
    const definition: ScheduleDefinition<string> = {
      name: 'cycle',
      every: '10s',
      run: (given, { signal }) => {
        assert.equal(given, server);
        this.signal = signal;
        this.began.push(this.clock.now() / 1_000);
        return new Promise((resolve, reject) => {
          this.#end = (error) => (error === undefined ? resolve() : reject(error));
        });
      },
      ...fields,
    };
    const [schedule] = createSchedules([definition], { server, clock: this.clock, log });
    assert.ok(schedule);
    schedule.start();
    return schedule;
  }

  async after(seconds: number): Promise<number[]> {
    await this.clock.advance(seconds * 1_000);
    return this.began;
  }

  async end(error?: Error): Promise<void> {
    this.#end(error);
    await settle();
  }
}

test('S-65: a schedule begins after its time, counted from the start of the run before', async () => {
  const runs = new Runs();
  runs.schedule({});
  assert.deepEqual(await runs.after(9), []);
  assert.deepEqual(await runs.after(1), [10]);
  await runs.after(4);
  await runs.end();
  assert.deepEqual(await runs.after(6), [10, 20]);
});

test('S-65: one run at a time: the next of a run that takes longer follows at once', async () => {
  const runs = new Runs();
  runs.schedule({ atStart: true });
  assert.deepEqual(await runs.after(35), [0]);
  await runs.end();
  assert.deepEqual(await runs.after(0), [0, 35]);
});

test('S-90: counted from the end, and with the first run at the start', async () => {
  const runs = new Runs();
  runs.schedule({ from: 'end', atStart: true });
  assert.deepEqual(await runs.after(7), [0]);
  await runs.end();
  assert.deepEqual(await runs.after(9), [0]);
  assert.deepEqual(await runs.after(1), [0, 17]);
});

test('S-65: a run that throws is logged, and the next one comes', async () => {
  const runs = new Runs();
  runs.schedule({ atStart: true });
  await runs.after(0);
  await runs.end(new Error('the table is locked'));
  assert.deepEqual(runs.failures, ['a schedule failed; it runs again']);
  assert.deepEqual(await runs.after(10), [0, 10]);
});

test('S-65: a stop tells the run, waits for it within the drain time, and no other comes', async () => {
  const runs = new Runs();
  const schedule = runs.schedule({ atStart: true });
  await runs.after(0);
  let isStopped = false;
  const stopped = schedule.stop(5_000).then(() => {
    isStopped = true;
  });
  assert.equal(runs.signal?.aborted, true);
  await runs.after(4);
  assert.equal(isStopped, false);
  await runs.end();
  await stopped;
  assert.deepEqual(await runs.after(100), [0]);
  assert.equal(runs.clock.pending, 0);
});

test('two schedules of one name, or one without a length of time, are refused', () => {
  const parts = { server, clock: new VirtualClock(), log: silentLog };
  const definition = { name: 'cycle', every: '10s', run: () => {} };
  const message = /schedule "cycle": /;
  assert.throws(() => createSchedules([definition, definition], parts), message);
  for (const every of ['10', '0s', 'soon'])
    assert.throws(() => createSchedules([{ ...definition, every }], parts), message);
});
