import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until, VirtualClock } from 'capataz/testing';
import { FakeProvider } from './fake-provider.ts';
import type { ScriptText } from './script.ts';

function post(url: string, text: string, more: object = {}): Promise<Response> {
  return fetch(`${url}/messages`, {
    method: 'POST',
    headers: { 'x-client-request-id': text, 'x-api-key': 'k' },
    body: JSON.stringify({
      model: 'm',
      max_tokens: 50,
      messages: [{ role: 'user', content: text }],
      ...more,
    }),
  });
}

async function statuses(fake: FakeProvider, texts: readonly string[]): Promise<number[]> {
  const answers: number[] = [];
  for (const text of texts) {
    const response = await post(fake.url, text);
    await response.text();
    answers.push(response.status);
  }
  return answers;
}

test('rules serve as often as they say, the first that fits rules', async () => {
  const script: ScriptText = {
    rules: [
      { when: { contains: 'b' }, times: 2, do: { kind: 'status', status: 503 } },
      { when: { wire: 'openai' }, do: { kind: 'status', status: 500 } },
    ],
  };
  await using fake = await FakeProvider.start({ script });
  assert.deepEqual(await statuses(fake, ['a', 'b', 'b', 'b']), [200, 503, 503, 200]);
  fake.follow(script);
  assert.deepEqual(await statuses(fake, ['b']), [503]);
});

test('chaos is the same for the same seed, in whatever order the requests come', async () => {
  const texts = Array.from({ length: 40 }, (_, index) => `job ${index}`);
  const chaos = { seed: 7, rateLimited: 0.2, unavailable: 0.2 };
  const seen = async (order: readonly string[], seed = 7): Promise<Map<string, number[]>> => {
    await using fake = await FakeProvider.start({ script: { chaos: { ...chaos, seed } } });
    const found = new Map<string, number[]>();
    for (const text of [...order, ...order]) {
      const [status = 0] = await statuses(fake, [text]);
      found.set(text, [...(found.get(text) ?? []), status]);
    }
    return new Map([...found].sort());
  };
  const forwards = await seen(texts);
  assert.deepEqual(await seen(texts.toReversed()), forwards);
  assert.notDeepEqual(await seen(texts, 8), forwards);
  assert.deepEqual(new Set([...forwards.values()].flat()), new Set([200, 429, 503]));
});

test('what every provider refuses: a wrong key, an unknown model, too long a prompt', async () => {
  await using fake = await FakeProvider.start({ script: { key: 'other' } });
  assert.deepEqual(await statuses(fake, ['a']), [401]);
  fake.follow({ models: ['n'] });
  assert.deepEqual(await statuses(fake, ['a']), [404]);
  fake.follow({ contextTokens: 2 });
  assert.deepEqual(await statuses(fake, ['short', 'much too long']), [200, 400]);
  const wrong = await fetch(`${fake.url}/messages`, { method: 'POST', body: '{' });
  assert.deepEqual([wrong.status, (await fetch(`${fake.url}/nothing`)).status], [400, 404]);
});

test('limits of a minute slide, and say when to come back', async () => {
  const clock = new VirtualClock();
  await using fake = await FakeProvider.start({
    clock,
    script: { limits: { requestsPerMinute: 2 } },
  });
  assert.deepEqual(await statuses(fake, ['a']), [200]);
  await clock.advance(20_000);
  assert.deepEqual(await statuses(fake, ['b']), [200]);
  const refused = await post(fake.url, 'c');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '40']);
  await clock.advance(40_000);
  assert.deepEqual(await statuses(fake, ['d', 'e']), [200, 429]);

  fake.meter.clear();
  fake.follow({ limits: { tokensPerMinute: 10 } });
  assert.deepEqual(await statuses(fake, ['x'.repeat(40), 'y']), [200, 429]);
});

test('S-78 the meter counts what is generated, also when nobody waits for it any more', async () => {
  const clock = new VirtualClock();
  await using fake = await FakeProvider.start({
    clock,
    script: { rules: [{ do: { kind: 'answer', delayMs: 60_000, usage: { output: 9 } } }] },
  });
  const controller = new AbortController();
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'four' }] });
  const asked = fetch(`${fake.url}/chat/completions`, {
    method: 'POST',
    body,
    signal: controller.signal,
  });
  await until(() => fake.meter.entries.length === 1);
  controller.abort();
  await assert.rejects(asked);
  assert.deepEqual(fake.meter.total, { input: 1, output: 9, cacheRead: 0, cacheWrite: 0 });
  await until(() => clock.pending === 0);
  assert.equal(fake.meter.entries[0]?.status, null);
});

test('as a process it is scripted and read over HTTP', async () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const child = spawn(process.execPath, ['--conditions=capataz-source', main], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const url = /listening on (\S+)/.exec(line.toString())?.[1] ?? '';
    const script: ScriptText = { rules: [{ do: { kind: 'answer', text: 'from the script' } }] };
    await fetch(`${url}/script`, { method: 'PUT', body: JSON.stringify(script) });
    assert.match(await (await post(url, 'a')).text(), /from the script/);
    const wrong = await fetch(`${url}/script`, { method: 'PUT', body: '{"rules":[{"do":1}]}' });
    assert.equal(wrong.status, 400);
    const meter = (await (await fetch(`${url}/meter`)).json()) as FakeProvider['meter'];
    assert.deepEqual(
      meter.entries.map(({ requestId, status }) => [requestId, status]),
      [['a', 200]],
    );
    assert.deepEqual(meter.total, { input: 1, output: 4, cacheRead: 0, cacheWrite: 0 });
    await fetch(`${url}/meter`, { method: 'DELETE' });
    assert.match(await (await fetch(`${url}/meter`)).text(), /"entries":\[\]/);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
});
