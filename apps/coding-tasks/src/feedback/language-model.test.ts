import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../task/feedback.ts';
import { ModelStandIn } from './fixtures/model-stand-in.ts';
import { createLanguageModel } from './language-model.ts';

const failure: Failure = {
  ...{ taskId: 't', prompt: 'Add a sum', plan: { texto: 'Write sum.js' }, pullRequestUrl: null },
  ...{ diff: '+a - b', log: 'not ok 1 - adds\n  expected 3, got 1\n', round: 1 },
};
const { signal } = new AbortController();
const price = { input: 3, output: 15 };

for (const api of ['anthropic', 'openai-compatible'] as const) {
  test(`C-10: a model that speaks ${api} (a local stand-in) is called once and sees the log`, async () => {
    await using standIn = await ModelStandIn.start();
    const settings = { api, model: 'some-model', baseUrl: standIn.url, apiKey: 'secret', price };
    const { text, usage } = await createLanguageModel(settings).correct(failure, { signal });
    assert.equal(text, 'Add, do not subtract.');
    assert.deepEqual(usage, { tokensEntrada: 1_000, tokensSalida: 50, costeUsd: 0.00375 });
    const [call, ...more] = standIn.calls;
    assert.ok(call !== undefined && more.length === 0);
    for (const part of ['Add a sum', 'Write sum.js', '+a - b', 'expected 3, got 1', 'some-model']) {
      assert.ok(call.body.includes(part), part);
    }
    const keys = [call.headers['x-api-key'], call.headers.authorization];
    assert.ok(keys.includes(api === 'anthropic' ? 'secret' : 'Bearer secret'));
  });
}

test('C-t: an endpoint that fails is called once a try, and one that hangs ends with the deadline', async () => {
  await using standIn = await ModelStandIn.start();
  standIn.status = 503;
  const settings = { model: 'm', baseUrl: standIn.url, apiKey: 'k' };
  const model = createLanguageModel({ api: 'openai-compatible', ...settings });
  await assert.rejects(model.correct(failure, { signal }));
  assert.equal(standIn.calls.length, 1);
  await assert.rejects(model.correct(failure, { signal: AbortSignal.abort() }));
});

test('an endpoint without an address is refused at once', () => {
  const settings = { api: 'openai-compatible', model: 'm', apiKey: 'k' } as const;
  assert.throws(() => createLanguageModel(settings), /needs its address/);
});
