import assert from 'node:assert/strict';
import { test } from 'node:test';
import { highestCost, mostInputTokens } from './estimate.ts';
import { costOf, type Price } from './price.ts';

const price: Price = {
  perToken: { input: 1_000_000, output: 5_000_000, cacheRead: 100_000, cacheWrite: 1_250_000 },
  date: '2026-11-28',
};
const call = {
  instructions: 'Be brief.',
  messages: [{ role: 'user', text: 'Renomeie a função.' }],
  maxTokens: 100,
} as const;

test('S-82 a reservation covers whatever the call may cost', () => {
  const reserved = highestCost(call, price) ?? 0;
  const input = mostInputTokens(call);
  assert.ok(input >= Buffer.byteLength(call.instructions + call.messages[0].text));
  for (const usage of [
    { input, output: 100, cacheRead: 0, cacheWrite: 0 },
    { input: 0, output: 100, cacheRead: 0, cacheWrite: input },
    { input: 0, output: 100, cacheRead: input, cacheWrite: 0 },
  ]) {
    assert.ok(reserved >= (costOf(usage, price) ?? Number.POSITIVE_INFINITY));
  }
  assert.equal(reserved, 1_250 * input + 5_000 * 100);
});

test('S-82 attachments are reserved for, images by what they are scaled to', () => {
  const attached = (mediaType: string, bytes: number) =>
    mostInputTokens({
      messages: [
        {
          role: 'user',
          text: '',
          attachments: [{ name: 'a', mediaType, content: new Uint8Array(bytes) }],
        },
      ],
    });
  assert.ok(attached('text/plain', 9_000) > 9_000);
  assert.ok(attached('image/png', 2_000_000) < 10_000);
});

test('S-82 without a price there is no estimate', () => {
  assert.equal(highestCost(call, null), null);
  const unpriced: Price = { ...price, perToken: { ...price.perToken, output: null } };
  assert.equal(highestCost(call, unpriced), null);
});
