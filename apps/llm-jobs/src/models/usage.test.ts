import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unknownUsage } from './contract.ts';
import { usageOfCompletion } from './usage.ts';

type Wire = Parameters<typeof usageOfCompletion>[0];

function read(raw: object | undefined) {
  const nothing = { total: undefined, noCache: undefined, cacheRead: undefined };
  return usageOfCompletion({
    inputTokens: { ...nothing, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    raw,
  } as Wire);
}

test('B-072 what came from a cache or went into it is not input as well, whoever tells it', () => {
  const prompt = { prompt_tokens: 100, completion_tokens: 10 };
  const cached = { input: 30, output: 10, cacheRead: 70, cacheWrite: 0 };
  assert.deepEqual(read({ ...prompt, prompt_tokens_details: { cached_tokens: 70 } }), cached);
  assert.deepEqual(read({ ...prompt, prompt_cache_hit_tokens: 70 }), cached);
  const both = { input: 30, output: 10, cacheRead: 50, cacheWrite: 20 };
  for (const name of ['cache_creation_tokens', 'cache_write_tokens']) {
    const details = { cached_tokens: 50, [name]: 20 };
    assert.deepEqual(read({ ...prompt, prompt_tokens_details: details }), both, name);
  }
});

test('B-072 reasoning is charged once, within the completion or beside it', () => {
  const details = { completion_tokens_details: { reasoning_tokens: 40 } };
  const within = { prompt_tokens: 5, completion_tokens: 50, total_tokens: 55, ...details };
  const beside = { prompt_tokens: 5, completion_tokens: 10, total_tokens: 55, ...details };
  assert.equal(read(within).output, 50);
  assert.equal(read(beside).output, 50);
});

test('B-072 numbers that are missing or impossible are unknown', () => {
  assert.deepEqual(read(undefined), unknownUsage);
  assert.equal(read({ completion_tokens: 3 }).input, null);
  assert.equal(read({ prompt_tokens: 3 }).output, null);
  const impossible = { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 9 } };
  assert.equal(read(impossible).input, null);
  assert.equal(read({ prompt_tokens: -3, completion_tokens: 1.5 }).input, null);
});
