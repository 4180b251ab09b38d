import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nanoUsd, picoUsdPerToken, usdNumber, usdText } from './money.ts';

test('W-t amounts are whole nano-dollars inside and plain decimals outside', () => {
  for (const [text, amount] of [
    ['0.001', 1_000_000],
    ['0.05', 50_000_000],
    ['0.000000001', 1],
    ['1234.5', 1_234_500_000_000],
    ['0', 0],
  ] as const) {
    assert.equal(nanoUsd(text), amount);
    assert.equal(usdText(amount), text);
    assert.equal(usdNumber(amount), Number(text));
  }
  assert.equal(usdText(-1_500_000_000), '-1.5');
});

test('W-t the 100 jobs of the origin cost 0.71 USD exactly', () => {
  const total = 60 * nanoUsd(0.001) + 30 * nanoUsd(0.005) + 10 * nanoUsd(0.05);
  assert.equal(usdText(total), '0.71');
  assert.equal(usdNumber(total), 0.71);
});

test('an amount that is none, or too fine to hold, is refused', () => {
  for (const wrong of ['', '-1', '1e3', 'x', '.5', '0.0000000001', '99999999999', Number.NaN]) {
    assert.throws(() => nanoUsd(wrong), /must be an amount of USD/, String(wrong));
  }
  assert.equal(picoUsdPerToken('0.0028'), 2_800);
  assert.throws(() => picoUsdPerToken('0.0000001'), /at most 6 decimals/);
});
