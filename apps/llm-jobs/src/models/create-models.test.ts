import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { FakeProvider } from '../fake-provider/fake-provider.ts';
import { catalogOf, loadCatalog } from './catalog.ts';
import { parseCatalogFile, readCatalogFile } from './catalog-file.ts';
import { ModelError, noUsage } from './contract.ts';
import { createModels } from './create-models.ts';

const call = {
  requestId: 'call-1',
  provider: 'anthropic',
  model: 'claude-haiku-4-5-20251001',
  messages: [{ role: 'user', text: 'Rename the function.' }],
  maxTokens: 100,
} as const;

test('without a key the stub answers, asks nobody, costs nothing and says what it is', async () => {
  for (const keys of [{}, { ANTHROPIC_API_KEY: '' }, { OPENAI_API_KEY: 'not of a tier' }]) {
    await using models = createModels({ catalog: loadCatalog(), keys, clock: systemClock });
    const deltas: string[] = [];
    const answer = await models.call({ ...call, onDelta: (text) => deltas.push(text) });
    assert.deepEqual([models.isStub, answer.isStub, answer.usage], [true, true, noUsage]);
    assert.match(answer.text, /^\[stub\] .*was not asked/);
    assert.deepEqual(deltas, [answer.text]);
  }
});

test('with a key, or a provider that needs none, a model is asked', async () => {
  await using fake = await FakeProvider.start({ script: { key: 'k' } });
  const shipped = new URL('./models.toml', import.meta.url).pathname;
  const own = (text: string) =>
    catalogOf([readCatalogFile(shipped), parseCatalogFile(text, 'own')], 'own');
  await using keyed = createModels({
    catalog: own(`[providers.anthropic]\nbase_url = "${fake.url}"`),
    keys: { ANTHROPIC_API_KEY: 'k' },
    clock: systemClock,
  });
  assert.equal(keyed.isStub, false);
  assert.equal((await keyed.call(call)).isStub, false);

  fake.follow({});
  await using keyless = createModels({
    catalog: own(
      `[providers.local]\nbase_url = "${fake.url}"\n[tiers.Haiku]\nmodel = "local/tiny"`,
    ),
    keys: {},
    clock: systemClock,
  });
  assert.equal(keyless.isStub, false);
  assert.equal((await keyless.call({ ...call, provider: 'local', model: 'tiny' })).isStub, false);
  assert.equal(fake.meter.entries.at(-1)?.model, 'tiny');
  for (const provider of ['anthropic', 'nobody']) {
    await assert.rejects(keyless.call({ ...call, provider }), (error: unknown) => {
      assert.ok(error instanceof ModelError);
      assert.deepEqual([error.reason, error.wasSent, error.usage], ['rejected', false, noUsage]);
      return true;
    });
  }
});
