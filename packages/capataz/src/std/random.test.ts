import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jittered, type Random, systemRandom } from './random.ts';

test('S-9 ids are UUIDs of version 7, each another', () => {
  const ids = Array.from({ length: 200 }, () => systemRandom.id());
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  assert.equal(new Set(ids).size, 200);
});

test('a secret has 256 bits and goes into a URL', () => {
  const secrets = Array.from({ length: 50 }, () => systemRandom.secret());
  for (const secret of secrets) assert.match(secret, /^[A-Za-z0-9_-]{43}$/);
  assert.equal(new Set(secrets).size, 50);
});

test('jitter moves a value by its share at most', () => {
  const at = (chance: number): Random => ({ ...systemRandom, next: () => chance });
  assert.deepEqual(
    [0, 0.5, 1 - 2 ** -53].map((chance) => jittered(1_000, 0.1, at(chance))),
    [900, 1_000, 1_100],
  );
  assert.equal(jittered(1_000, 0, at(0)), 1_000);
});
