import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { busBlueprintNames } from './bus-blueprints.ts';
import { simulate } from './scenario.ts';
import { crashAtEachCommit, failEachCall, type SweepStep, sweptBlueprints } from './sweeps.ts';
import { waitBlueprintNames } from './wait-blueprints.ts';

const seeds = 400;
const seedsATest = 25;

/** What happened on the bus of all those seeds together (`BusFigures`). */
const onTheBus = new Map<string, number>();

describe('the simulator', () => {
  for (let first = 1; first <= seeds; first += seedsATest) {
    const last = first + seedsATest - 1;
    it(`seeds ${first} to ${last} keep every rule through crashes, losses, freezes and clock steps`, async () => {
      for (let seed = first; seed <= last; seed += 1) {
        const { violations, jobs, bus } = await simulate(seed);
        assert.deepEqual(violations, [], `replay with: npm run sim -- --seed ${seed} --trace`);
        assert.ok(jobs.length > 0);
        for (const [what, times] of Object.entries(bus))
          onTheBus.set(what, (onTheBus.get(what) ?? 0) + times);
      }
    });
  }

  it('saw everything happen on the bus that its rules are about', () => {
    const missing = [...onTheBus].filter(([, times]) => times < 50);
    assert.deepEqual(missing, []);
  });

  it('gives the same story for the same seed, and another for another', async () => {
    const first = await simulate(7);
    const again = await simulate(7);
    const other = await simulate(8);
    assert.deepEqual(again.trace, first.trace);
    assert.notDeepEqual(other.trace, first.trace);
  });

  it('sweeps over every kind of wait, and over those that use the bus', () => {
    const swept = new Set(sweptSeeds.flatMap(sweptBlueprints));
    const wanted = [...waitBlueprintNames, ...busBlueprintNames];
    assert.deepEqual(
      wanted.filter((name) => !swept.has(name)),
      [],
    );
  });

  it('keeps every rule whichever store call fails', async () => {
    await holds(failEachCall(3), 40);
  });

  it('keeps every rule wherever the server dies before a commit', async () => {
    for (const seed of sweptSeeds) await holds(crashAtEachCommit(seed, 'before'), 20);
  });

  it('keeps every rule wherever the server dies after a commit', async () => {
    for (const seed of sweptSeeds) await holds(crashAtEachCommit(seed, 'after'), 20);
  });
});

const sweptSeeds = [1, 38, 39];

/** @param least steps that the sweep must have, lest it sweeps nothing */
async function holds(sweep: AsyncIterable<SweepStep>, least: number): Promise<void> {
  let steps = 0;
  for await (const { nth, violations } of sweep) {
    assert.deepEqual(violations, [], `at the store call number ${nth}`);
    steps += 1;
  }
  assert.ok(steps > least, `only ${steps} steps`);
}
