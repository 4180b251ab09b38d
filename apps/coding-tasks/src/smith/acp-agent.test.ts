import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from 'capataz/server';
import { VirtualClock } from 'capataz/testing';
import { Place, until } from '../performer/fixtures/place.ts';
import { type AcpAgentOptions, createAcpAgent } from './acp-agent.ts';
import { type Agent, AgentFailed, type Turn } from './agent.ts';

const fake = fileURLToPath(new URL('./fixtures/fake-acp-agent.ts', import.meta.url));

function agentIn(
  place: Place,
  argv: readonly [string, ...string[]] = [process.execPath, fake],
  more: Partial<AcpAgentOptions> = {},
): Agent {
  const { environment } = place;
  return createAcpAgent({ name: 'fake', argv, clock: systemClock, environment, ...more });
}

function turnIn(place: Place, turn: Partial<Turn> = {}): Turn {
  return {
    phase: 'code',
    prompt: 'make it',
    folder: place.folder,
    answerFile: place.path('answer.md'),
    session: null,
    marks: {},
    ...turn,
  };
}

function control(said: string[] = []) {
  return { signal: new AbortController().signal, say: (status: string) => void said.push(status) };
}

test('an ACP agent plans without leave to write, and writes once it codes', async () => {
  using place = new Place();
  const agent = agentIn(place);
  const plan = await agent.turn(turnIn(place, { phase: 'plan' }), control());
  assert.deepEqual(plan, { text: 'Planned it.', session: 'acp-1', usage: null });
  assert.equal(existsSync(place.path('made.txt')), false);
  const said: string[] = [];
  const { text } = await agent.turn(turnIn(place), control(said));
  assert.equal(text, 'Made it.');
  assert.ok(said.includes('Edit made.txt'));
  assert.equal(readFileSync(place.path('made.txt'), 'utf8'), 'make it');
});

test('an ACP agent takes its session up, and what it tells of before is not its answer', async () => {
  using place = new Place();
  const answer = await agentIn(place).turn(turnIn(place, { session: 'acp-9' }), control());
  assert.deepEqual([answer.text, answer.session], ['Made it.', 'acp-9']);
});

test('an ACP agent that refuses has failed; one that dies or is missing is at fault', async () => {
  using place = new Place();
  const failure = (isRecoverable: boolean, message: RegExp) => (error: unknown) =>
    error instanceof AgentFailed &&
    error.isRecoverable === isRecoverable &&
    message.test(error.message);
  const ask = (prompt: string, agent = agentIn(place)) =>
    agent.turn(turnIn(place, { prompt }), control());
  await assert.rejects(ask('REFUSE'), failure(false, /refusal/));
  await assert.rejects(ask('DIE'), failure(true, /code 3/));
  await assert.rejects(
    ask('x', agentIn(place, ['no-such-agent'])),
    failure(true, /not be started/),
  );
});

test('an ACP agent gets the extra arguments, and is ended when it is silent for too long', async () => {
  using place = new Place();
  const script = place.write('silent.sh', 'echo "$@" > args.txt; sleep 60');
  const clock = new VirtualClock();
  const more = { clock, silenceMs: 60_000, graceMs: 100, extraArgs: ['--model', 'small one'] };
  const turn = agentIn(place, ['sh', script], more).turn(turnIn(place), control());
  const file = place.path('args.txt');
  await until(() => existsSync(file) && readFileSync(file, 'utf8') === '--model small one\n');
  const failed = assert.rejects(turn, /wrote nothing for 60000 ms/);
  await clock.advance(60_000);
  await clock.advance(60_000);
  await failed;
});
