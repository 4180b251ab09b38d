import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { answer, failing, ScriptedModels, World } from '../fixtures/world.ts';

const settings = { classify: true } as const;

test('S-81: a model says which skill and tier a job needs, and its call is booked apart', async () => {
  await using world = await World.start({
    settings,
    models: new ScriptedModels(
      () => answer('```json\n{"skill": "testing", "complexity": "complex"}\n```'),
      () => answer('done'),
    ),
  });
  const record = await world.run('Fix the bug');
  assert.deepEqual(record.agent, { skill: 'testing', model: 'Opus' });
  const [asked, answered] = world.models.calls;
  assert.deepEqual([asked?.model, asked?.maxTokens], ['claude-haiku-4-5-20251001', 256]);
  assert.equal(answered?.model, 'claude-opus-4-6');
  assert.match(asked?.instructions ?? '', /"testing" or "refactoring"/);
  // 100 in and 10 out: 1 and 5 USD for a million, and 5 and 25.
  assert.deepEqual(
    [record.extra.classification_usd, record.extra.booked_usd, record.cost_usd],
    [0.00015, 0.0009, 0.05],
  );
  assert.deepEqual(record.state_transitions, ['Init', 'DefineAgent', 'Process', 'End']);
});

test('S-81: whatever keeps the model from saying it, the words of the description decide', async () => {
  const mishaps = [
    failing('timeout'),
    failing('rejected'),
    () => answer('I would say testing.'),
    () => answer('{"skill": "cooking", "complexity": "simple"}'),
    () => answer('{"skill": "testing", "complexity": "huge"}'),
  ];
  for (const mishap of mishaps) {
    await using world = await World.start({
      settings,
      models: new ScriptedModels(mishap, () => answer('done')),
    });
    const record = await world.run('Fix the bug');
    assert.deepEqual(record.agent, { skill: 'bug_fix', model: 'Haiku' });
    assert.deepEqual([record.status, record.retry_count], ['Completed', 0]);
  }
});

test('--model overrides the tier that the model has chosen, and not the skill', async () => {
  await using world = await World.start({
    settings,
    models: new ScriptedModels(
      () => answer('{"skill": "testing", "complexity": "simple"}'),
      () => answer('done'),
    ),
  });
  const record = await world.run({ description: 'Fix the bug', model: 'opus' });
  assert.deepEqual(record.agent, { skill: 'testing', model: 'Opus' });
});

test('S-81: system prompt, most tokens and attachments are those of the skill', async () => {
  await using world = await World.start({
    prepare: (folder) => {
      writeFileSync(join(folder, 'style.md'), 'Short lines.');
      const file = join(folder, 'skills.toml');
      writeFileSync(
        file,
        '[skills.bug_fix]\ninstructions = "Be brief."\nmax_tokens = 77\nattachments = ["style.md"]\ntell_refusals = false\n',
      );
      return { skills: file };
    },
    models: new ScriptedModels(
      () => answer(''),
      () => answer('done'),
    ),
  });
  await world.run('Fix the bug');
  const [call, again] = world.models.calls;
  assert.deepEqual([call?.instructions, call?.maxTokens], ['Be brief.', 77]);
  const [attachment] = call?.messages[0]?.attachments ?? [];
  assert.deepEqual(
    [attachment?.name, attachment?.mediaType, String(attachment?.content)],
    ['style.md', 'text/plain', 'Short lines.'],
  );
  assert.equal(again?.messages[0]?.text, 'Fix the bug');
});
