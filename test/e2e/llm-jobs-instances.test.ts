/** Servers of the LLM jobs that share a PostgreSQL, one of which is killed. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createClient } from 'capataz/client';
import { Books } from '../../apps/llm-jobs/src/books/books.ts';
import { FakeProvider } from '../../apps/llm-jobs/src/fake-provider/fake-provider.ts';
import { PostgresRoom } from '../../packages/capataz/src/bus/postgres/fixtures/postgres-room.ts';
import { postgresService } from '../../packages/capataz/src/testing/postgres-service.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';
import { Program } from './program.ts';

const database = await postgresService();
const room = new PostgresRoom(database.url);
const folder = mkdtempSync(join(tmpdir(), 'capataz-llm-instances-'));
after(async () => {
  await room[Symbol.asyncDispose]();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(name: string) {
  const program = new Program(
    'apps/llm-jobs/bin/capataz-llm.mjs',
    [
      ...['serve', '--port', '0', '--data-dir', join(folder, name), '--log-level', 'error'],
      ...['--store-url', room.url, '--concurrency', '3', '--base-delay-ms', '50'],
    ],
    folder,
  );
  const url = await program.says(/listening on (http:\S+)/);
  return { program, client: createClient({ url }) };
}

function booksOf(name: string): Books {
  return new Books(join(folder, name, 'llm-books.sqlite'), { readOnly: true });
}

test('S-78, S-56: several servers make each call once, share its limits, take over from one that is killed, and have the same books once it is back', async () => {
  await using fake = await FakeProvider.start({
    script: { rules: [{ do: { kind: 'answer', delayMs: 100 } }] },
  });
  writeFileSync(join(folder, 'models.toml'), `[providers.anthropic]\nbase_url = "${fake.url}"\n`);
  writeFileSync(join(folder, 'llm-jobs.toml'), 'api_key = "a-key"\n');
  const first = await serve('first');
  await using _first = first.program;
  const second = await serve('second');
  await using _second = second.program;
  const started = await first.client.jobs.startMany(
    'llm-job',
    Array.from({ length: 40 }, (_, index) => ({ input: { description: `Fix bug ${index}` } })),
  );
  const ids = started.flatMap((answer) => ('jobId' in answer ? [answer.jobId] : []));
  await until(() => fake.meter.entries.length >= 12);
  await first.program.stop('SIGKILL');
  for (const id of ids) await second.client.jobs.wait(id, { timeout: '60s' });
  const again = await serve('first');
  await using _again = again.program;
  using books = booksOf('second');
  using others = booksOf('first');
  const hasAll = (some: Books) => ids.every((id) => some.record(id) !== null);
  await until(() => hasAll(books) && hasAll(others));
  // What the killed one wrote ahead of a commit that never came is put right when it is back.
  await until(() => isDeepStrictEqual([...others.records()], [...books.records()]));
  assert.deepEqual(others.calls(), books.calls());
  assert.equal([...books.records()].length, 40);
  const calls = books.calls();
  const lost = calls.filter(({ outcome }) => outcome === 'lost');
  assert.ok(lost.length <= 3, `${lost.length} calls were lost, and three may be made at once`);
  assert.equal(calls.length, 40 + lost.length);
  const asked = fake.meter.entries.map(({ requestId }) => requestId);
  assert.equal(new Set(asked).size, asked.length);
  for (const { request_id, outcome, usage } of calls) {
    const [entry] = fake.meter.of(request_id);
    if (outcome === 'answered') assert.deepEqual(usage, entry?.tokens);
  }
  // Each holds its answer back 100 ms, and three go at once: more would be less than that apart.
  const times = fake.meter.entries.map(({ at }) => at);
  for (const [index, at] of times.slice(3).entries())
    assert.ok(at - (times[index] ?? 0) >= 90, `${at - (times[index] ?? 0)} ms`);
});
