import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type CodingSettings, codingServer } from './application.ts';

async function startWith(settings: Partial<CodingSettings>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'capataz-coding-'));
  try {
    const config = { port: 0, dataDir, logLevel: 'error' as const };
    const server = await codingServer().start({ config, settings });
    await server.stop();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function alone(only: string): Partial<CodingSettings> {
  return { only };
}

const wrong: readonly [Partial<CodingSettings>, RegExp][] = [
  [alone('smith'), /^bus_url: is missing/],
  [alone('gateway'), /bus_url: is missing.*\norchestrator_url: is missing/],
  [alone('orchestrator,gateway,smith,sandbox,cook'), /"cook" is none of/],
  [{ agent: 'scripted' }, /^agent: .*script/],
  [{ agent: 'command' }, /^agent: .*command/],
  [{ feedback: 'anthropic' }, /^feedback_model: is missing/],
  [{ feedback: 'openai-compatible', feedbackModel: 'm' }, /^feedback_url: is missing/],
  [
    { feedback: 'anthropic', feedbackModel: 'm', feedbackInputPrice: 1 },
    /^feedback_output_price: is missing/,
  ],
  [{ testCommand: ' ' }, /^test_command: is empty/],
  [{ silence: 0 }, /^silence: must be longer than 0/],
];
for (const [settings, message] of wrong) {
  test(`a wrong setting stops the start and is named: ${JSON.stringify(settings)}`, async () => {
    await assert.rejects(startWith(settings), { code: 'CONFIG_INVALID', message });
  });
}

test('without an agent it starts with simulated services, on a bus in its process', async () => {
  await startWith({});
});
