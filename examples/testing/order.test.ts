import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSeed, type Trial, tryOut } from 'capataz/testing';
import { Bank } from './bank.ts';
import order from './order-blueprint.ts';

/** The trial of a `charge` skill: ten orders, none of which may be charged twice. */
function trial(
  keyOf: (task: { readonly attempt: string; readonly order: string }) => string,
): Trial {
  const bank = new Bank();
  return {
    blueprints: [order],
    skills: {
      charge: async ({ attempt, params }, { wait }) => {
        await wait(200);
        const id = String(params.order);
        return bank.charge(keyOf({ attempt, order: id }), id);
      },
      ship: () => ({ shipped: true }),
    },
    jobs: Array.from({ length: 10 }, () => ({ blueprint: 'order', input: {} })),
    reset: () => bank.reset(),
    check: () => bank.chargedTwice.map((id) => `order ${id} was charged twice`),
  };
}

// A worker that dies between the charge and its report is replaced, and the task runs again: that is
// what "at least once" means. The attempt's id differs then, so the bank can't know.
const careless = trial(({ attempt }) => attempt);
const careful = trial(({ order: id }) => `charge ${id}`);

test('a key made from the attempt charges twice, and a seed shows it', async () => {
  const found = await findSeed(careless, { seeds: 50 });
  assert.match(found?.violations.join('\n') ?? 'no seed found it', /was charged twice/);
});

test('the seed that found it replays the same story', async () => {
  const found = await findSeed(careless, { seeds: 50 });
  assert.ok(found !== null);
  assert.deepEqual((await tryOut(found.seed, careless)).trace, found.trace);
});

test('a key made from the order charges once, whatever happens', async () => {
  assert.equal(await findSeed(careful, { seeds: 50 }), null);
});
