/** `npm run check`: starts the endpoint and asks it as the application does, 20 calls at once. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { systemClock } from 'capataz/server';
import { catalogOf, loadCatalog } from '../src/models/catalog.ts';
import { parseCatalogFile, readCatalogFile } from '../src/models/catalog-file.ts';
import { isKnown, type ModelCall, type ModelError } from '../src/models/contract.ts';
import { createModels } from '../src/models/create-models.ts';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const endpoint = spawn(process.execPath, [here('serve.ts'), '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [line] = (await once(endpoint.stdout, 'data')) as [Buffer];
  const url = /listening on (\S+)/.exec(line.toString())?.[1] ?? '';
  await ask(url);
} finally {
  endpoint.kill();
  await once(endpoint, 'exit');
}

async function ask(url: string): Promise<void> {
  const files = [here('../src/models/models.toml'), here('models.toml')].map(readCatalogFile);
  const place = parseCatalogFile(`[providers.local]\nbase_url = "${url}"`, 'check');
  const catalog = catalogOf([...files, place], 'check');
  assert.equal(loadCatalog(here('models.toml')).tiers.Opus.chain[0].provider, 'local');
  await using models = createModels({ catalog, keys: {}, clock: systemClock });
  const calls = Array.from({ length: 20 }, (_, index) => callOf(index));
  const startedAt = systemClock.steady();
  const answers = await Promise.all(calls.map((call) => models.call(call)));
  const tookMs = systemClock.steady() - startedAt;
  for (const { text, usage, isStub } of answers) {
    assert.match(text, /^(The|Every|A) .*\.$/);
    assert.ok(isKnown(usage) && usage.input > 0 && usage.output > 1 && !isStub);
  }
  const truncated = models.call({ ...callOf(0), maxTokens: 1 });
  await assert.rejects(truncated, (error) => (error as ModelError).reason === 'truncated');
  console.log([...new Set(answers.map(({ text }) => text))].join('\n'));
  console.log(`${answers.length} answers of a local engine in ${Math.round(tookMs)} ms`);
}

/** Every other one streamed. */
function callOf(index: number): ModelCall {
  return {
    requestId: `check-${index}`,
    provider: 'local',
    model: 'tiny',
    messages: [{ role: 'user', text: `Job ${index}: rename the function.` }],
    maxTokens: 200,
    ...(index % 2 === 0 ? {} : { onDelta: () => {} }),
  };
}
