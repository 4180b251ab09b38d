import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ran } from '../fixtures/app-process.ts';

test('the demo runs twenty jobs with failures through the fake provider, shows the books, and leaves nothing behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-llm-demo-test-'));
  try {
    const { code, stdout, stderr } = await ran(['demo'], folder);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^✓ {2}1\/20 /m);
    assert.match(stdout, /20\/20/);
    assert.match(stdout, /^↻ retry 3 in 2000 ms: Fix the error in the totals of October/m);
    assert.match(stdout, /^✗ .*Say what nobody may say$/m);
    assert.match(stdout, /^Completed +18 +100 % /m);
    assert.match(stdout, /^Failed +2 +0 % +3 +5 +0\.01 /m);
    const [, theirs, ours] = /meter has (\d+) requests .* our books (\d+) /.exec(stdout) ?? [];
    assert.equal(theirs, ours);
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
