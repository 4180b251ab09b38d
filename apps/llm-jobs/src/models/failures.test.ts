import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until, VirtualClock } from 'capataz/testing';
import { FakeProvider } from '../fake-provider/fake-provider.ts';
import type { RuleText } from '../fake-provider/script.ts';
import { isKnown, type ModelError, noUsage, unknownUsage } from './contract.ts';
import { AskedFake, key, ways } from './fixtures/asked-fake.ts';
import { Chatterbox } from './fixtures/chatterbox.ts';
import { DeafPlace } from './fixtures/deaf-place.ts';

for (const way of ways) {
  test(`B-074 W-m what can never succeed is permanent and asked once (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    for (const status of [400, 401, 403, 404, 413, 422]) {
      asked.always({ kind: 'status', status, message: 'prompt is too long' });
      const failure = await asked.failure(way);
      assert.deepEqual(
        [failure.reason, failure.failureClass, failure.status],
        ['rejected', 'permanent', status],
      );
      assert.equal(failure.providerRequestId, `req_${asked.fake.meter.entries.length}`);
      assert.equal(failure.message, `${way.wire}: answered ${status}: prompt is too long`);
      assert.deepEqual(failure.usage, noUsage);
    }
    assert.equal(asked.fake.meter.entries.length, 6);
  });

  test(`W-m a 400 about the content is a refusal (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    asked.always({ kind: 'status', status: 400, message: 'filtered', code: 'content_filter' });
    const { reason } = await asked.failure(way);
    assert.equal(reason, way.wire === 'openai' ? 'refused' : 'rejected');
  });

  test(`W-l B-074 S-79 a 429 hands on how long to wait, and is not repeated here (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    for (const [retryAfterAs, expected] of [
      ['seconds', 7_000],
      ['date', 7_000],
    ] as const) {
      asked.always({ kind: 'status', status: 429, retryAfter: 7, retryAfterAs });
      const failure = await asked.failure(way);
      assert.deepEqual(
        [failure.reason, failure.failureClass, failure.retryAfterMs],
        ['rate_limited', 'system', expected],
      );
    }
    asked.always({ kind: 'status', status: 429 });
    assert.equal((await asked.failure(way)).retryAfterMs, null);
    asked.always({ kind: 'status', status: 429, retryAfter: 7_200 });
    assert.equal((await asked.failure(way)).retryAfterMs, 7_200_000);
    assert.equal(asked.fake.meter.entries.length, 4);
  });

  test(`B-074 outages are system failures, each asked once (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    for (const status of [408, 409, 425, 500, 502, 503, 504, 529]) {
      asked.always({ kind: 'status', status });
      const failure = await asked.failure(way);
      assert.deepEqual(
        [failure.reason, failure.failureClass, failure.status],
        ['unavailable', 'system', status],
      );
    }
    assert.equal(asked.fake.meter.entries.length, 8);
  });

  test(`S-78 after a 500 nobody knows what was counted, after a 503 nothing was (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    for (const [status, usage] of [
      [500, unknownUsage],
      [502, unknownUsage],
      [503, noUsage],
      [529, noUsage],
    ] as const) {
      asked.always({ kind: 'status', status });
      assert.deepEqual((await asked.failure(way)).usage, usage, String(status));
    }
  });

  test(`a connection that breaks is a system failure (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    for (const behaviour of [
      { kind: 'reset' },
      { kind: 'cut', afterChunks: 1 },
      ...(way.isStreamed ? [{ kind: 'cut', afterChunks: 1, clean: true } as const] : []),
    ] satisfies RuleText['do'][]) {
      asked.always(behaviour);
      const failure = await asked.failure(way);
      assert.deepEqual([failure.reason, failure.failureClass], ['cut', 'system'], failure.message);
      assert.equal(failure.wasSent, true);
      assert.ok(!isKnown(failure.usage));
    }
  });

  test(`a wrong JSON is a system failure (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    asked.always({ kind: 'garbled' });
    const failure = await asked.failure(way);
    assert.deepEqual([failure.reason, failure.failureClass], ['malformed', 'system']);
  });

  test(`an error within the answer is an outage (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    asked.always({ kind: 'overloaded' });
    const failure = await asked.failure(way);
    assert.deepEqual([failure.reason, failure.failureClass], ['unavailable', 'system']);
    assert.match(failure.message, /Overloaded/);
    assert.equal(isKnown(failure.usage), !way.isStreamed);
  });

  test(`B-074 a call ends after 120 s in all, silent or dripping (${way.name})`, async () => {
    const clock = new VirtualClock();
    await using asked = await AskedFake.start({ clock });
    for (const behaviour of [
      { kind: 'silence' },
      { kind: 'answer', delayMs: way.isStreamed ? 0 : 200_000, chunkDelayMs: 50_000 },
    ] satisfies RuleText['do'][]) {
      asked.always(behaviour);
      const before = asked.fake.meter.entries.length;
      const failed = asked.failure(way);
      await until(() => asked.fake.meter.entries.length > before);
      await clock.advance(119_999);
      assert.equal(await pending(failed), true);
      await clock.advance(1);
      const failure = await failed;
      assert.deepEqual([failure.reason, failure.failureClass], ['timeout', 'system']);
      assert.equal(failure.message, `${way.wire}: no complete answer within 120 s`);
      assert.ok(!isKnown(failure.usage));
    }
  });

  test(`W-s the caller can end a call (${way.name})`, async () => {
    await using asked = await AskedFake.start({ script: { rules: [{ do: { kind: 'silence' } }] } });
    const controller = new AbortController();
    const failed = asked.failure(way, { signal: controller.signal });
    await until(() => asked.fake.meter.entries.length === 1);
    controller.abort();
    const { reason, failureClass, wasSent } = await failed;
    assert.deepEqual([reason, failureClass, wasSent], ['cancelled', 'system', true]);
    const early = await asked.failure(way, { signal: controller.signal });
    assert.deepEqual([early.reason, early.wasSent], ['cancelled', false]);
    assert.equal(asked.fake.meter.entries.length, 1);
  });

  test(`no secret stands in an error (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    asked.always({ kind: 'status', status: 401, message: `bad key ${key}, or sk-ab***********yz` });
    const failure = await asked.failure(way);
    assert.equal(failure.message, `${way.wire}: answered 401: bad key ***, or ***`);
  });
}

test('S-78 a stream that breaks tells at least the input that was counted', async () => {
  await using asked = await AskedFake.start();
  asked.always({ kind: 'cut', afterChunks: 2 });
  const failure = await asked.failure({ wire: 'anthropic', isStreamed: true });
  const { input, cacheRead, cacheWrite } = asked.fake.meter.total;
  assert.deepEqual(failure.usage, { input, cacheRead, cacheWrite, output: null });
  assert.equal(failure.text, asked.deltas.join(''));
  assert.notEqual(failure.text, '');
});

test('a provider that is not there was sent nothing, so that the call costs nothing', async () => {
  const gone = await FakeProvider.start();
  const { url: baseUrl } = gone;
  await gone[Symbol.asyncDispose]();
  await using asked = await AskedFake.start({ baseUrl });
  for (const way of ways) expectUnreachable(await asked.failure(way));
});

test('connecting has a time-out of its own, and nothing was sent by then', async () => {
  await using place = await DeafPlace.start();
  await using asked = await AskedFake.start({ baseUrl: place.url, connectTimeoutMs: 300 });
  expectUnreachable(await asked.failure({ wire: 'anthropic', isStreamed: false }));
});

test('a redirect is not followed: it would take the key along', async () => {
  await using asked = await AskedFake.start();
  asked.always({ kind: 'status', status: 307 });
  for (const way of ways) {
    const failure = await asked.failure(way);
    assert.deepEqual([failure.reason, failure.status], ['rejected', 307]);
    assert.match(failure.message, /redirects are not followed/);
  }
});

function expectUnreachable(failure: ModelError): void {
  assert.deepEqual([failure.reason, failure.failureClass], ['unreachable', 'system']);
  assert.deepEqual([failure.wasSent, failure.usage], [false, noUsage]);
}

async function pending(promise: Promise<unknown>): Promise<boolean> {
  const mark = Symbol('pending');
  return (await Promise.race([promise, Promise.resolve(mark)])) === mark;
}

test('an answer without end is given up before it fills the memory', async () => {
  await using box = await Chatterbox.start();
  await using asked = await AskedFake.start({ baseUrl: box.url });
  for (const isStreamed of [true, false]) {
    const { reason, message } = await asked.failure({ wire: 'openai', isStreamed });
    assert.equal(reason, 'malformed');
    assert.match(message, /longer than 64 MiB/);
  }
  box.status = 500;
  assert.equal((await asked.failure({ wire: 'openai', isStreamed: true })).reason, 'unavailable');
});
