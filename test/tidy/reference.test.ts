import assert from 'node:assert/strict';
import { test } from 'node:test';
import { referencePages } from '../../scripts/reference.ts';
import { readText, sourceExists } from './sources.ts';

for (const { path, text } of referencePages()) {
  test(`${path} says what the code says`, () => {
    const found = sourceExists(path) ? readText(path) : '';
    assert.ok(
      found === text,
      `${path}: differs from the code; instead: node scripts/run.mjs reference`,
    );
  });
}
