import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneTask, startWorld } from './fixtures.ts';

test('refused reports fill no book: after twenty in a minute the rest is left out, and it says so', async () => {
  const world = await startWorld({ blueprints: [oneTask()] });
  const job = await world.create('one-task');
  const flood = async (): Promise<void> => {
    const reports = Array.from({ length: 50 }, (_, index) => ({
      jobId: job,
      attempt: `made-up-${index}-${'x'.repeat(500)}`,
      report: {},
    }));
    const { answers } = await world.engine.workers.report('stranger', reports, 0);
    assert.ok(answers.every(({ type }) => type === 'ignored'));
  };
  const refused = async () =>
    (await world.history(job)).filter(({ type }) => type === 'report_refused');
  await flood();
  const entries = await refused();
  assert.equal(entries.length, 20);
  assert.deepEqual(entries.at(-1)?.details, {
    note: 'further refusals within this minute are left out',
  });
  assert.equal(entries[0]?.attempt?.length, 100);
  await world.advance(60_000);
  await flood();
  assert.equal((await refused()).length, 40);
});
