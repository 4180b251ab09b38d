import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noUsage, unknownUsage } from './contract.ts';
import { usdNumber } from './money.ts';
import { costOf, type Price } from './price.ts';

/** USD for a million: 3, 15, 0.3, 3.75. */
const price: Price = {
  perToken: { input: 3_000_000, output: 15_000_000, cacheRead: 300_000, cacheWrite: 3_750_000 },
  date: '2026-11-28',
};

test('B-072 each class of tokens is charged once, at its own price', () => {
  const cost = costOf({ input: 1_000, output: 200, cacheRead: 7, cacheWrite: 3 }, price);
  const byHand = (1_000 * 3 + 200 * 15 + 7 * 0.3 + 3 * 3.75) / 1e6;
  assert.equal(cost, 6_013_350);
  assert.ok(Math.abs(usdNumber(cost ?? 0) - byHand) < 1e-9);
});

test('B-072 a single cached token is not lost in rounding', () => {
  assert.equal(costOf({ ...noUsage, cacheRead: 1 }, price), 300);
});

test('B-072 an unknown price, or tokens nobody told, make the cost unknown and not zero', () => {
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 };
  assert.equal(costOf(usage, null), null);
  assert.equal(costOf(unknownUsage, price), null);
  assert.equal(costOf({ ...usage, output: null }, price), null);
  const withoutCache: Price = { ...price, perToken: { ...price.perToken, cacheRead: null } };
  assert.equal(costOf({ ...usage, cacheRead: 1 }, withoutCache), null);
  assert.equal(costOf(usage, withoutCache), 105_000);
});

test('a call that was never counted costs nothing, whatever the price', () => {
  assert.equal(costOf(noUsage, null), 0);
});

test('what is finer than a nano-dollar is rounded half up, once a call', () => {
  const fine: Price = { ...price, perToken: { ...price.perToken, input: 500 } };
  assert.equal(costOf({ ...noUsage, input: 1 }, fine), 1);
  assert.equal(costOf({ ...noUsage, input: 2 }, fine), 1);
  assert.equal(costOf({ ...noUsage, input: 3 }, fine), 2);
});
