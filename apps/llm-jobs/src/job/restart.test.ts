/** A server that stops and another that takes over, in time that the test moves. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { answer, failing, ScriptedModels, World } from '../fixtures/world.ts';

test('W-q: a job that waited for its retry when its server stopped goes on at the instant that was stored', async () => {
  const first = await World.start({ models: new ScriptedModels(failing('unavailable')) });
  const id = await first.begin({ description: 'Fix it', base_delay_ms: 30_000 });
  await first.until(async () => (await first.job(id)).retry_count === 1);
  const { next_attempt_at } = await first.job(id);
  await first.stop();
  await using world = await World.start({ previous: first });
  const before = await world.job(id);
  assert.deepEqual(
    [before.retry_count, before.next_attempt_at, before.calls.length],
    [1, next_attempt_at, 1],
  );
  const record = await world.record(id);
  assert.deepEqual(
    [record.status, record.retry_count, record.extra.llm_calls],
    ['Completed', 1, 2],
  );
  assert.equal(world.models.calls[0]?.at, Date.parse(next_attempt_at ?? ''));
});

test('W-q, S-78: a call whose server stopped is lost, is made again under another id, and is no retry', async () => {
  const models = new ScriptedModels(
    ({ signal }) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  );
  const first = await World.start({ models, config: { drain: 100 } });
  const id = await first.begin('Fix it');
  await first.until(() => models.calls.length === 1);
  await first.stop();
  await using world = await World.start({ previous: first });
  const record = await world.record(id);
  assert.deepEqual([record.status, record.retry_count], ['Completed', 0]);
  assert.deepEqual(record.state_transitions, ['Init', 'DefineAgent', 'Process', 'End']);
  const [lost, answered] = world.books.calls(id);
  assert.deepEqual(
    [lost?.outcome, lost?.cost_nano_usd, lost?.usage, answered?.outcome],
    ['lost', null, null, 'answered'],
  );
  assert.equal(lost?.request_id, models.calls[0]?.requestId);
  assert.equal(answered?.request_id, world.models.calls[0]?.requestId);
  assert.notEqual(lost?.request_id, answered?.request_id);
  assert.deepEqual([record.extra.unknown_calls, record.extra.booked_usd], [1, null]);
});

test('S-78: an answer that was told, but not judged, when the server stopped is not asked for again', async () => {
  const models = new ScriptedModels(() => answer('told'));
  const first = await World.start({
    models,
    config: { drain: 100 },
    prepare: (folder) => ({ skills: hangingCheck(folder) }),
  });
  const id = await first.begin('Fix it');
  await first.until(() => existsSync(join(first.folder, 'checking')));
  await first.stop();
  await using world = await World.start({ previous: first });
  const record = await world.record(id);
  assert.deepEqual(
    [record.status, record.llm_response, record.extra.llm_calls],
    ['Completed', 'told', 1],
  );
  assert.equal(world.models.calls.length, 0);
});

/** A check that tells that it has begun, and then never ends. */
function hangingCheck(folder: string): string {
  const file = join(folder, 'skills.toml');
  const script = `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'checking'))}, ''); setInterval(() => {}, 1000)`;
  writeFileSync(
    file,
    `[skills.bug_fix]\ncheck = { command = ${JSON.stringify([process.execPath, '-e', script])} }\n`,
  );
  return file;
}
