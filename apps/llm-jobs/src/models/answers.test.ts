import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unknownUsage } from './contract.ts';
import { AskedFake, ways } from './fixtures/asked-fake.ts';

for (const way of ways) {
  test(`an answer comes with its text, usage and ids (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    const answer = await asked.ask(way);
    assert.equal(answer.text, 'Done, as it was asked for: Rename the function.');
    assert.equal(answer.isStub, false);
    assert.equal(answer.providerRequestId, 'req_1');
    assert.deepEqual(answer.usage, asked.fake.meter.total);
    if (!way.isStreamed) return;
    assert.ok(asked.deltas.length > 1);
    assert.equal(asked.deltas.join(''), answer.text);
  });

  test(`S-78 our own id of a request stands in the provider's meter (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    const { usage } = await asked.ask(way, { requestId: 'row-17' });
    const [entry, ...others] = asked.fake.meter.of('row-17');
    assert.deepEqual(entry?.tokens, usage);
    assert.deepEqual(others, []);
    assert.equal(asked.fake.meter.entries.length, 1);
  });

  test(`B-072 every mixture of tokens is booked as the meter has it (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    for (const tokens of [
      { input: 11, output: 5 },
      { input: 11, output: 5, cacheRead: 300 },
      { input: 11, output: 5, cacheRead: 300, cacheWrite: 40 },
      { input: 0, output: 50, cacheWrite: 40, reasoning: 45 },
    ]) {
      asked.always({ kind: 'answer', usage: tokens });
      const { reasoning: _, ...classes } = tokens;
      const { usage } = await asked.ask(way);
      assert.deepEqual(usage, { cacheRead: 0, cacheWrite: 0, ...classes });
      assert.deepEqual(usage, asked.fake.meter.entries.at(-1)?.tokens);
    }
  });

  test(`S-81 a truncated answer is a business failure, and its tokens are known (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    const failure = await asked.failure(way, { maxTokens: 3 });
    assert.deepEqual(
      [failure.reason, failure.failureClass, failure.text],
      ['truncated', 'business', 'Done, as it '],
    );
    assert.deepEqual(failure.usage, asked.fake.meter.total);
  });

  test(`W-m refused content is permanent, and its tokens are known (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    asked.always({ kind: 'answer', finish: 'refusal' });
    const failure = await asked.failure(way);
    assert.deepEqual([failure.reason, failure.failureClass], ['refused', 'permanent']);
    assert.deepEqual(failure.usage, asked.fake.meter.total);
  });

  test(`an empty answer is an answer: whether it will do, others say (${way.name})`, async () => {
    await using asked = await AskedFake.start();
    asked.always({ kind: 'answer', text: '' });
    assert.equal((await asked.ask(way)).text, '');
  });
}

test('B-072 usage in a last chunk that has a choice is usage, and none is unknown', async () => {
  await using asked = await AskedFake.start();
  const streamed = { wire: 'openai', isStreamed: true } as const;
  asked.always({ kind: 'answer', usageIn: 'choice' });
  assert.deepEqual((await asked.ask(streamed)).usage, asked.fake.meter.total);
  asked.always({ kind: 'answer', usageIn: 'nowhere' });
  assert.deepEqual((await asked.ask(streamed)).usage, unknownUsage);
  assert.deepEqual((await asked.ask({ ...streamed, isStreamed: false })).usage, unknownUsage);
});

test('S-81 instructions, the conversation and attachments reach the model', async () => {
  await using asked = await AskedFake.start();
  for (const wire of ['anthropic', 'openai'] as const) {
    asked.fake.follow({
      rules: [
        {
          when: { contains: 'Be brief.\nFirst try.\nA long answer.\n' },
          do: { kind: 'answer', text: wire },
        },
      ],
    });
    const content = new TextEncoder().encode('the log of yesterday');
    const answer = await asked.ask(
      { wire, isStreamed: false },
      {
        messages: [
          { role: 'user', text: 'First try.' },
          { role: 'assistant', text: 'A long answer.' },
          {
            role: 'user',
            text: 'Too long.',
            attachments: [
              { name: 'a.log', mediaType: 'text/plain', content },
              { name: 'a.png', mediaType: 'image/png', content: new Uint8Array([137, 80]) },
            ],
          },
        ],
      },
    );
    assert.equal(answer.text, wire);
    const { prompt } = asked.fake.meter.entries.at(-1) ?? {};
    assert.match(prompt ?? '', /<attachment name="a.log">\nthe log of yesterday\n<\/attachment>/);
    assert.match(prompt ?? '', /Too long\.$/);
  }
});

test('B-072 the wire tells how tokens are counted, not the name of the provider', async () => {
  await using asked = await AskedFake.start();
  asked.always({ kind: 'answer', usage: { cacheRead: 300, cacheWrite: 40 } });
  for (const isStreamed of [false, true]) {
    const way = { wire: 'openai', isStreamed } as const;
    const { usage } = await asked.ask(way, { provider: 'anthropic-gateway' });
    assert.deepEqual(usage, asked.fake.meter.entries.at(-1)?.tokens);
  }
});
