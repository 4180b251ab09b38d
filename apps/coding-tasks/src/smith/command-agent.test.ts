import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { VirtualClock } from 'capataz/testing';
import { Place, until } from '../performer/fixtures/place.ts';
import { AgentFailed, type Turn } from './agent.ts';
import { createCommandAgent } from './command-agent.ts';
import { customTemplate, presets } from './presets.ts';

/** A fake of an agent's dialect: writes down how it was called, then prints these lines. */
function fake(place: Place, name: string, lines: readonly string[], ending = ''): void {
  const program = `#!${process.execPath}
const { readFileSync, writeFileSync } = require('node:fs');
const input = readFileSync(0, 'utf8');
writeFileSync(${JSON.stringify(place.path('call.json'))}, JSON.stringify({ args: process.argv.slice(2), input }));
for (const line of ${JSON.stringify(lines)}) console.log(line);
${ending}
`;
  chmodSync(place.write(`bin/${name}`, program), 0o755);
}

function called(place: Place): { args: string[]; input: string } {
  return JSON.parse(readFileSync(place.path('call.json'), 'utf8'));
}

function surroundings(place: Place) {
  const path = `${place.path('bin')}:${place.environment.PATH}`;
  return { clock: systemClock, environment: { ...place.environment, PATH: path } };
}

function turnIn(place: Place, turn: Partial<Turn> = {}): Turn {
  return {
    phase: 'code',
    prompt: 'Do it.',
    folder: place.folder,
    answerFile: place.path('answer.md'),
    session: null,
    marks: {},
    ...turn,
  };
}

const control = { signal: new AbortController().signal, say: () => undefined };

function agentOf(place: Place, name: string) {
  const preset = presets[name];
  assert.ok(preset !== undefined);
  return createCommandAgent(preset.template, surroundings(place));
}

const usage = (costUsd: number | null, inputTokens: number, outputTokens: number) => ({
  costUsd,
  inputTokens,
  outputTokens,
});

test('claude (a fake of its dialect): session, answer and usage from stream-json', async () => {
  using place = new Place();
  fake(place, 'claude', [
    '{"type":"system","subtype":"init","session_id":"s-1"}',
    '{"type":"assistant","session_id":"s-1","message":{"content":[{"type":"tool_use","name":"Edit"}]}}',
    '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s-1","total_cost_usd":0.5,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}}',
  ]);
  const agent = agentOf(place, 'claude');
  const answer = await agent.turn(turnIn(place), control);
  assert.deepEqual(answer, { text: 'Done.', session: 's-1', usage: usage(0.5, 15, 2) });
  assert.equal(called(place).input, 'Do it.');
  assert.ok(called(place).args.includes('acceptEdits'));
  await agent.turn(turnIn(place, { phase: 'plan', session: 's-1' }), control);
  assert.deepEqual(called(place).args.slice(-4), ['--permission-mode', 'plan', '--resume', 's-1']);
});

test('claude (a fake of its dialect): an error in the result is a failure, with its words', async () => {
  using place = new Place();
  const line = '{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s"}';
  fake(place, 'claude', [line]);
  await assert.rejects(agentOf(place, 'claude').turn(turnIn(place), control), /error_max_turns/);
});

test('codex (a fake of its dialect): thread, last message and tokens from JSON lines', async () => {
  using place = new Place();
  fake(place, 'codex', [
    'a warning',
    '{"type":"thread.started","thread_id":"t-1"}',
    '{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}',
    '{"type":"turn.completed","usage":{"input_tokens":7,"output_tokens":3}}',
  ]);
  const agent = agentOf(place, 'codex');
  const answer = await agent.turn(turnIn(place), control);
  assert.deepEqual(answer, { text: 'Done.', session: 't-1', usage: usage(null, 7, 3) });
  await agent.turn(turnIn(place, { session: 't-1' }), control);
  assert.deepEqual(called(place).args.slice(0, 3), ['exec', 'resume', 't-1']);
});

test('gemini (a fake of its dialect): one JSON object behind warnings', async () => {
  using place = new Place();
  const whole = {
    session_id: 'g-1',
    response: 'Done.',
    stats: { models: { m: { tokens: { prompt: 4, candidates: 2 } } } },
  };
  fake(place, 'gemini', ['Loaded.', ...JSON.stringify(whole, null, 2).split('\n')]);
  const answer = await agentOf(place, 'gemini').turn(turnIn(place), control);
  assert.deepEqual(answer, { text: 'Done.', session: 'g-1', usage: usage(null, 4, 2) });
});

test('opencode (a fake of its dialect): the steps’ costs add up', async () => {
  using place = new Place();
  const finish =
    '{"type":"step_finish","sessionID":"o-1","part":{"cost":0.1,"tokens":{"input":3,"output":1}}}';
  fake(place, 'opencode', [finish, '{"type":"text","part":{"text":"Done."}}', finish]);
  const answer = await agentOf(place, 'opencode').turn(turnIn(place), control);
  assert.deepEqual(answer, { text: 'Done.', session: 'o-1', usage: usage(0.2, 6, 2) });
  assert.equal(called(place).args.at(-1), 'Do it.');
});

test('aider (a fake): plain text is the answer, and a prompt too long for an argument is refused', async () => {
  using place = new Place();
  fake(place, 'aider', ['Applied edit.', 'Done.']);
  const agent = agentOf(place, 'aider');
  assert.equal((await agent.turn(turnIn(place), control)).text, 'Applied edit.\nDone.');
  const prompt = 'x'.repeat(200_000);
  await assert.rejects(agent.turn(turnIn(place, { prompt }), control), /at most 120000 bytes/);
});

test('any other program: its answer file goes before what it prints', async () => {
  using place = new Place();
  const writes = `require('node:fs').writeFileSync(process.argv[2], 'From the file.')`;
  fake(place, 'own-agent', ['{"text":"From the line.","session":"x"}'], writes);
  const template = customTemplate(['own-agent', '{answerFile}'], 'lines');
  const answer = await createCommandAgent(template, surroundings(place)).turn(
    turnIn(place),
    control,
  );
  assert.deepEqual([answer.text, answer.session], ['From the file.', 'x']);
});

test('a failure tells the code and the last words; one that can’t be started is recoverable', async () => {
  using place = new Place();
  fake(place, 'codex', [], `console.error('no key'); process.exit(4);`);
  await assert.rejects(
    agentOf(place, 'codex').turn(turnIn(place), control),
    (error) => error instanceof AgentFailed && /code 4: no key/.test(error.message),
  );
  const missing = createCommandAgent(customTemplate(['no-such'], 'text'), surroundings(place));
  await assert.rejects(
    missing.turn(turnIn(place), control),
    (error) => error instanceof AgentFailed && error.isRecoverable,
  );
});

test('an agent that writes nothing for too long is ended', async () => {
  using place = new Place();
  const started = place.path('started');
  fake(
    place,
    'mute',
    [],
    `require('node:fs').writeFileSync(${JSON.stringify(started)}, ''); setInterval(() => {}, 1000);`,
  );
  const clock = new VirtualClock();
  const agent = createCommandAgent(customTemplate(['mute'], 'text'), {
    ...surroundings(place),
    clock,
    silenceMs: 60_000,
  });
  const turn = agent.turn(turnIn(place), control);
  turn.catch(() => undefined);
  await until(() => existsSync(started));
  await clock.advance(60_000);
  await assert.rejects(turn, /wrote nothing for 60000 ms/);
});

test('an agent that prints 200 MB without a line break holds nobody up', {
  timeout: 60_000,
}, async () => {
  using place = new Place();
  const template = customTemplate(['head', '-c', '200000000', '/dev/zero'], 'lines');
  const { text } = await createCommandAgent(template, surroundings(place)).turn(
    turnIn(place),
    control,
  );
  assert.equal(text, '');
});
