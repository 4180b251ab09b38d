import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
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

const tasksList = z.object({
  tareas: z.array(z.looseObject({ taskId: z.string(), prompt: z.string() })),
});

test('tasks are listed as they were made, oldest first', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'capataz-coding-'));
  const config = { port: 0, dataDir, logLevel: 'error' as const };
  const server = await codingServer().start({ config });
  try {
    const made: unknown[] = [];
    for (const prompt of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const body = JSON.stringify({ prompt, repositorioOrigen: '/repository' });
      const headers = { 'content-type': 'application/json' };
      await fetch(`${server.url}/tareas`, { method: 'POST', headers, body });
      made.push(prompt);
    }
    const { tareas } = tasksList.parse(await (await fetch(`${server.url}/tareas`)).json());
    assert.deepEqual(
      tareas.map(({ prompt }) => prompt),
      made,
    );
    const ids = tareas.map(({ taskId }) => taskId);
    assert.deepEqual(ids, ids.toSorted(), 'the newest fifty are the last ones by their ids');
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
