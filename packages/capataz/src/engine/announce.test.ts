import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blueprint } from '../core/blueprint.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import { listeningLog } from '../testing/listening-log.ts';
import { Dice } from '../testing/sim/dice.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { createEngine } from './engine.ts';

const failing = blueprint({
  name: 'failing',
  version: 1,
  states: {
    work: {
      start: true,
      end: true,
      retry: { max: 1, base: '1s', jitter: 0 },
      handle: () => {
        throw new Error('not today');
      },
    },
  },
});

test('A-63: failures of handlers and parked jobs reach the log with job, state and correlation id', async () => {
  const clock = new VirtualClock();
  const { log, lines } = listeningLog();
  const engine = createEngine({
    store: createMemoryStore({ clock }),
    blueprints: [failing],
    clock,
    random: new Dice(1),
    instance: 'test',
    client: (name) => ({ name, plan: null, params: {} }),
    log,
  });
  await engine.start();
  const [created] = await engine.jobs.create([
    { blueprint: 'failing', client: 'dev', input: {}, correlationId: 'c-1' },
  ]);
  await clock.advance(5_000);
  const told = lines.filter(({ fields }) => fields.correlation === 'c-1');
  assert.deepEqual(
    told.map(({ level, message }) => [level, message]),
    [
      ['warn', 'a handler failed'],
      ['warn', 'a handler failed'],
      ['warn', 'a job is quarantined'],
    ],
  );
  assert.ok(created !== undefined && 'id' in created);
  assert.equal(told[0]?.fields.job, created.id);
  assert.equal(told[0]?.fields.reason, 'not today');
  await engine.stop({ drainMs: 0 });
});
