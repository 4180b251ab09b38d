/** `kill -9` of a real server, with the fake provider's meter to compare the books with. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient } from 'capataz/client';
import { until } from 'capataz/testing';
import { Books } from '../books/books.ts';
import { booksFile } from '../books/place.ts';
import { FakeProvider } from '../fake-provider/fake-provider.ts';
import type { ScriptText } from '../fake-provider/script.ts';
import { AppProcess } from '../fixtures/app-process.ts';
import { modelsAtFake } from '../fixtures/fake-world.ts';
import { isKnown, tokenClasses } from '../models/contract.ts';
import { blueprintName } from './names.ts';
import type { CallRow } from './record.ts';

class Place implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'capataz-llm-killed-'));
  readonly fake: FakeProvider;

  private constructor(fake: FakeProvider) {
    this.fake = fake;
    modelsAtFake(this.folder, fake.url);
    writeFileSync(join(this.folder, 'llm-jobs.toml'), 'api_key = "a-key"\nbase_delay_ms = 1500\n');
  }

  static async open(script: ScriptText): Promise<Place> {
    return new Place(await FakeProvider.start({ script }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fake[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async serve() {
    const words = ['serve', '--port', '0', '--data-dir', 'data', '--log-level', 'error'];
    const app = new AppProcess(words, this.folder);
    await until(() => app.url !== null);
    return { app, client: createClient({ url: app.url ?? '' }) };
  }

  books(): Books {
    return new Books(booksFile({ dataDir: join(this.folder, 'data') }), { readOnly: true });
  }
}

/**
 * Rows with usage are the meter's to the token; rows without cost nothing that is known; and what the
 * meter has beyond is exactly those requests (S-78).
 */
function compare(calls: readonly CallRow[], { meter }: FakeProvider): void {
  const known = calls.filter(({ usage }) => usage !== null && isKnown(usage));
  for (const { request_id, usage } of known) {
    const [entry, ...more] = meter.of(request_id);
    if (entry === undefined) assert.ok(tokenClasses.every((name) => usage?.[name] === 0));
    else assert.deepEqual(usage, entry.tokens);
    assert.deepEqual(more, []);
  }
  const unknown = calls.filter((call) => !known.includes(call));
  assert.ok(unknown.every(({ cost_nano_usd }) => cost_nano_usd === null));
  const booked = new Set(known.map(({ request_id }) => request_id));
  const beyond = meter.entries.flatMap(({ requestId }) =>
    requestId !== null && booked.has(requestId) ? [] : [requestId],
  );
  const ids = new Set(unknown.map(({ request_id }) => request_id));
  assert.ok(
    beyond.every((id) => id !== null && ids.has(id)),
    String(beyond),
  );
}

test('S-78, W-q: killed while a job waits for its retry, it is made once more by the next server, and once', async () => {
  await using place = await Place.open({
    rules: [{ times: 1, do: { kind: 'status', status: 503 } }],
  });
  const first = await place.serve();
  const { jobId } = await first.client.jobs.start(blueprintName, { description: 'Fix it' });
  await until(async () => (await first.client.jobs.get(jobId)).status === 'waiting_for_timer');
  await first.app.kill();
  const second = await place.serve();
  await using _ = second.app;
  await second.client.jobs.wait(jobId);
  using books = place.books();
  await until(() => books.record(jobId) !== null);
  assert.partialDeepStrictEqual(books.record(jobId), {
    status: 'Completed',
    retry_count: 1,
    state_transitions: ['Init', 'DefineAgent', 'Process', 'Process', 'End'],
    extra: { llm_calls: 2, unknown_calls: 0 },
  });
  assert.equal([...books.records()].length, 1);
  assert.equal(place.fake.meter.entries.length, 2);
  compare(books.calls(), place.fake);
});

test('S-78: killed during a call, the call stays in the books as unknown, and there is one record with the right counts', async () => {
  await using place = await Place.open({
    rules: [{ times: 3, do: { kind: 'answer', delayMs: 60_000 } }],
  });
  const first = await place.serve();
  const inputs = [1, 2, 3].map((number) => ({
    input: { description: `Fix it, number ${number}` },
  }));
  const started = await first.client.jobs.startMany(blueprintName, inputs);
  const ids = started.flatMap((answer) => ('jobId' in answer ? [answer.jobId] : []));
  await until(() => place.fake.meter.entries.length === 3);
  await first.app.kill();
  const second = await place.serve();
  await using _ = second.app;
  for (const id of ids) await second.client.jobs.wait(id);
  using books = place.books();
  await until(() => ids.every((id) => books.record(id) !== null));
  assert.equal([...books.records()].length, 3);
  for (const id of ids) {
    assert.partialDeepStrictEqual(books.record(id), {
      status: 'Completed',
      retry_count: 0,
      state_transitions: ['Init', 'DefineAgent', 'Process', 'End'],
      extra: { llm_calls: 2, unknown_calls: 1, booked_usd: null },
    });
  }
  assert.equal(place.fake.meter.entries.length, 6);
  assert.equal(new Set(place.fake.meter.entries.map(({ requestId }) => requestId)).size, 6);
  compare(books.calls(), place.fake);
});

test('S-78: killed again and again at whatever instant, every job has one record and no call is missing from the books', async () => {
  await using place = await Place.open({
    chaos: { seed: 7, rateLimited: 0.1, unavailable: 0.1, reset: 0.1, cut: 0.1, empty: 0.1 },
  });
  writeFileSync(join(place.folder, 'llm-jobs.toml'), 'api_key = "a-key"\nbase_delay_ms = 20\n');
  const inputs = Array.from({ length: 60 }, (_, index) => ({
    input: { description: `Fix it, number ${index}` },
  }));
  let ids: string[] = [];
  for (const kills of [8, 30, 60]) {
    const { app, client } = await place.serve();
    if (ids.length === 0) {
      const started = await client.jobs.startMany(blueprintName, inputs);
      ids = started.flatMap((answer) => ('jobId' in answer ? [answer.jobId] : []));
    }
    await until(() => place.fake.meter.entries.length >= kills);
    await app.kill();
  }
  const last = await place.serve();
  await using _ = last.app;
  for (const id of ids) await last.client.jobs.wait(id);
  using books = place.books();
  await until(() => ids.every((id) => books.record(id) !== null));
  const records = [...books.records()];
  assert.equal(records.length, 60);
  for (const { retry_count, max_retries, state_transitions, extra } of records) {
    assert.ok(retry_count <= max_retries);
    const visits = state_transitions.filter((state) => state === 'Process').length;
    assert.equal(visits, retry_count + 1);
    assert.ok(extra.llm_calls >= visits);
  }
  compare(books.calls(), place.fake);
});
