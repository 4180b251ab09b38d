import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogOf, loadCatalog, nextStep, priceOf } from './catalog.ts';
import { parseCatalogFile, readCatalogFile } from './catalog-file.ts';
import { usdNumber } from './money.ts';

const shipped = new URL('./models.toml', import.meta.url).pathname;

function overlaid(text: string) {
  return catalogOf([readCatalogFile(shipped), parseCatalogFile(text, 'own.toml')], 'own.toml');
}

test('W-19 the tiers cost 0.001, 0.005 and 0.05 USD a job', () => {
  const { tiers } = loadCatalog();
  const costs = Object.fromEntries(
    Object.entries(tiers).map(([tier, { cost }]) => [tier, usdNumber(cost)]),
  );
  assert.deepEqual(costs, { Haiku: 0.001, Sonnet: 0.005, Opus: 0.05 });
});

test('W-19 each tier stands for its model, whose tokens have dated prices', () => {
  const catalog = loadCatalog();
  const models = Object.values(catalog.tiers).map(({ chain }) => chain[0].model);
  assert.deepEqual(models, [
    'claude-haiku-4-5-20251001',
    'claude-sonnet-4-5-20250929',
    'claude-opus-4-6',
  ]);
  for (const { chain } of Object.values(catalog.tiers)) {
    const price = priceOf(catalog, chain[0]);
    assert.match(price?.date ?? '', /^\d{4}-\d\d-\d\d$/);
    assert.ok(Object.values(price?.perToken ?? {}).every((perToken) => perToken !== null));
  }
});

test('a file of the user is laid over what is shipped', () => {
  const catalog = overlaid(`
    date = 2026-11-28
    [providers.anthropic]
    base_url = "http://127.0.0.1:1/v1"
    [tiers.Haiku]
    model = "local/tiny"
    [prices."anthropic/claude-opus-4-6"]
    input = "4.5"
  `);
  assert.equal(catalog.providers.get('anthropic')?.baseUrl, 'http://127.0.0.1:1/v1');
  assert.equal(catalog.providers.get('anthropic')?.key, 'ANTHROPIC_API_KEY');
  assert.deepEqual(catalog.tiers.Haiku, {
    cost: 1_000_000,
    chain: [{ tier: 'Haiku', provider: 'local', model: 'tiny' }],
  });
  assert.deepEqual(priceOf(catalog, { provider: 'anthropic', model: 'claude-opus-4-6' }), {
    perToken: { input: 4_500_000, output: null, cacheRead: null, cacheWrite: null },
    date: '2026-11-28',
  });
  assert.equal(priceOf(catalog, { provider: 'local', model: 'a/b' })?.perToken.input, 0);
  assert.equal(priceOf(catalog, { provider: 'anthropic', model: 'unheard-of' }), null);
});

test('S-81 a chain goes on with each failure that it is for, and stays at its end', () => {
  const { tiers, fallbackOn } = overlaid(`
    [tiers.Opus]
    fallback = ["Sonnet", "openai/gpt-5"]
  `);
  assert.deepEqual(
    tiers.Opus.chain.map(({ tier, provider }) => [tier, provider]),
    [
      ['Opus', 'anthropic'],
      ['Sonnet', 'anthropic'],
      ['Opus', 'openai'],
    ],
  );
  const next = (step: number, failureClass: 'system' | 'business' | 'permanent') =>
    nextStep(tiers.Opus, { step, failureClass }, fallbackOn);
  assert.deepEqual([next(0, 'system'), next(1, 'system'), next(2, 'system')], [1, 2, 2]);
  assert.equal(next(0, 'business'), 0);
  assert.equal(next(0, 'permanent'), null);
});

test('W-m a permanent failure goes on to another model only where the file says so', () => {
  const { tiers, fallbackOn } = overlaid(`
    fallback_on = ["system", "permanent"]
    [tiers.Opus]
    fallback = ["Sonnet"]
  `);
  const next = (step: number) =>
    nextStep(tiers.Opus, { step, failureClass: 'permanent' }, fallbackOn);
  assert.deepEqual([next(0), next(1)], [1, null]);
});

test('everything that is wrong with a file is told at once, with its place', () => {
  const wrong = `
    colour = "red"
    [tiers.Haiku]
    cost_usd = -1
    [providers.here]
    api = "smoke signals"
    [prices."anthropic/x"]
    input = 1
  `;
  assert.throws(
    () => parseCatalogFile(wrong, 'own.toml'),
    ({ code, message }: { code: string; message: string }) => {
      assert.equal(code, 'CONFIG_INVALID');
      for (const place of ['colour', 'tiers.Haiku.cost_usd', 'providers.here.api']) {
        assert.match(message, new RegExp(`own.toml: .*${place.replaceAll('.', '\\.')}`), place);
      }
      return true;
    },
  );
  assert.throws(() => parseCatalogFile('[prices."a/b"]\ninput = 1', 'own.toml'), /own.toml: date/);
  assert.throws(() => parseCatalogFile('= 1', 'own.toml'), /own.toml:1:1/);
  assert.throws(() => readCatalogFile('/nowhere.toml'), /cannot be read \(ENOENT\)/);
});

test('what fits no provider is refused', () => {
  for (const [text, message] of [
    ['[tiers.Haiku]\nmodel = "nobody/x"', /tiers.Haiku.model: "nobody\/x" is not/],
    ['[tiers.Haiku]\nfallback = ["x"]', /tiers.Haiku.fallback: "x" is not/],
    ['date = 2026-01-01\n[prices."nobody/x"]\ninput = 1', /prices."nobody\/x"/],
    ['[providers.x]\napi = "openai-compatible"', /providers.x.base_url: is missing/],
    ['[providers.x]\nkey = "K"', /providers.x.api: is missing/],
  ] as const) {
    assert.throws(() => overlaid(text), message);
  }
});
