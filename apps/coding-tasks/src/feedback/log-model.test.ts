import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { processEnvironment } from '../performer/environment.ts';
import { Place } from '../performer/fixtures/place.ts';
import { failingTests } from './failing-tests.ts';
import { feedbackFrom, logModel } from './log-model.ts';

/** What Node's runner really prints. */
function nodeLog(reporter: string): string {
  using place = new Place();
  const file = place.write(
    'sum.test.mjs',
    `import assert from 'node:assert/strict';
import { test } from 'node:test';
test('adds', () => assert.equal(1 - 2, 3));
test('is there', () => assert.ok(true));
test('adds nothing', () => assert.equal(5, 4, 'nothing was added'));
`,
  );
  const { NODE_TEST_CONTEXT: _, ...env } = processEnvironment();
  const args = ['--test', `--test-reporter=${reporter}`, file];
  return spawnSync(process.execPath, args, { env, encoding: 'utf8' }).stdout;
}

for (const reporter of ['spec', 'tap']) {
  test(`failing tests are found in what Node's runner prints (${reporter}), each once`, () => {
    const tests = failingTests(nodeLog(reporter)).filter(({ name }) => !name.endsWith('.mjs'));
    assert.deepEqual(
      tests.map(({ name }) => name),
      ['adds', 'adds nothing'],
    );
    assert.match(tests[0]?.detail ?? '', /-1 !== 3|- 3/);
    assert.match(tests[1]?.detail ?? '', /nothing was added/);
  });
}

test('failing tests are found in other runners’ logs (as documented, not run here)', () => {
  const log = `
=== RUN   TestSum
    sum_test.go:9: got 1, want 3
--- FAIL: TestSum (0.00s)
FAILED tests/test_sum.py::test_adds - assert 1 == 3
---- sum::adds stdout ----
thread 'sum::adds' panicked at src/lib.rs:4:9
  ● Sum › adds

    expect(received).toBe(expected)
src/sum.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.
CONFLICT (content): Merge conflict in sum.js
`;
  assert.deepEqual(
    failingTests(log).map(({ name }) => name),
    [
      'TestSum',
      'tests/test_sum.py::test_adds - assert 1 == 3',
      'sum::adds',
      'Sum › adds',
      "src/sum.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
      'CONFLICT (content): Merge conflict in sum.js',
    ],
  );
});

test('without a model the feedback names the failing tests, and costs nothing', async () => {
  const { text, usage } = await logModel.correct(
    {
      ...{ taskId: 't', prompt: 'p', plan: null, pullRequestUrl: null, diff: null, round: 2 },
      log: 'ok 1 - fine\nnot ok 2 - adds\n  expected 3, got 1\n1..2\n',
    },
    { signal: new AbortController().signal },
  );
  assert.match(text, /^One test fails in round 2\./);
  assert.match(text, /## adds\n\n```\n {2}expected 3, got 1\n```/);
  assert.equal(usage?.costeUsd, 0);
});

test('a log without a known failure is handed on by its end, whatever is in it', () => {
  const text = feedbackFrom(`${'x'.repeat(10_000)}\n\`\`\`\nSegmentation fault\n`, 1);
  assert.ok(text.length < 7_000);
  assert.match(text, /````\n/);
  assert.match(text, /Segmentation fault/);
  assert.match(feedbackFrom('', 1), /the log is empty/);
});
