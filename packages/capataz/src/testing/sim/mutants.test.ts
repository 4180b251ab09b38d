import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { mutants } from './mutants.ts';

test('every mutant still finds the place that it breaks, once', () => {
  for (const { name, edits } of mutants) {
    for (const { file, find } of edits) {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      assert.equal(text.split(find).length - 1, 1, `${name}: ${file}`);
    }
  }
});
