/** `llm-jobs.toml`, the environment and flags, as the seed's `wolram.toml` has them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CapatazError } from 'capataz';
import { ran } from './fixtures/app-process.ts';
import { World } from './fixtures/world.ts';
import { jobRules, type LlmSettings } from './settings.ts';

async function inFolder(
  files: Readonly<Record<string, string>>,
  work: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'capataz-llm-settings-'));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('W-16: without any configuration there are three retries from 1,000 ms, the tier Sonnet, and no key', async () => {
  await using world = await World.start();
  assert.partialDeepStrictEqual(world.server.settings, {
    apiKey: '',
    defaultModelTier: 'sonnet',
    maxRetries: 3,
    baseDelayMs: 1_000,
  });
  const record = await world.run('Look at it');
  assert.equal(record.max_retries, 3);
});

test('the keys of wolram.toml are those of llm-jobs.toml, and flags go before them; an empty key is none', async () => {
  const file = 'api_key = ""\ndefault_model_tier = "opus"\nmax_retries = 5\nbase_delay_ms = 20\n';
  await inFolder({ 'llm-jobs.toml': file }, async (folder) => {
    const { code, stdout, stderr } = await ran(['config', '--max-retries', '7'], folder);
    assert.equal(code, 0, stderr);
    const shown = (name: string) =>
      new RegExp(`^${name} +(\\S+) +(.*)$`, 'm').exec(stdout)?.slice(1);
    assert.deepEqual(shown('max_retries'), ['7', 'flag --max-retries']);
    assert.deepEqual(shown('default_model_tier'), [
      'opus',
      `${join(folder, 'llm-jobs.toml')}: default_model_tier`,
    ]);
    assert.deepEqual(shown('base_delay_ms')?.[0], '20');
  });
});

test('what is wrong in a file stops the command, with file and field; unknown keys too', async () => {
  await inFolder(
    { 'llm-jobs.toml': 'max_retries = 101\ndefault_model_tier = "gpt"\nretries = 3\n' },
    async (folder) => {
      const { code, stderr } = await ran(['run', 'Fix it'], folder);
      assert.equal(code, 2);
      assert.match(stderr, /llm-jobs\.toml: max_retries: must be from 0 to 100, not 101/);
      assert.match(
        stderr,
        /llm-jobs\.toml: default_model_tier: must be one of haiku, sonnet, opus/,
      );
      assert.match(stderr, /llm-jobs\.toml: retries: is no setting/);
    },
  );
});

test('a budget that is no amount stops the start, with its field', async () => {
  await using world = await World.start();
  const values: LlmSettings = {
    ...world.server.settings,
    budgetJobUsd: 0.0000000001,
    budgetMonthUsd: -1,
  };
  assert.throws(
    () => jobRules(values),
    (error) =>
      error instanceof CapatazError &&
      /budget_job_usd: .*\nbudget_month_usd: /.test(error.message) &&
      error.code === 'CONFIG_INVALID',
  );
});
