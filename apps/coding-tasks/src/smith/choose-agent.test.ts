import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { Place } from '../performer/fixtures/place.ts';
import { agentNames, chooseAgent } from './choose-agent.ts';

test('every agent can be chosen by its name, and a name that is none is told the others', () => {
  using place = new Place();
  const options = { clock: systemClock, environment: place.environment };
  const script = place.write('script.json', '{"code":[{"answer":"x"}]}');
  for (const agent of agentNames) {
    assert.ok(chooseAgent({ agent, command: ['program'], script }, options).name !== '');
  }
  assert.throws(() => chooseAgent({ agent: 'clod' }, options), /no agent "clod"; there are claude/);
  assert.throws(() => chooseAgent({ agent: 'command' }, options), /needs a command/);
});

test('a script that is wrong is refused with its file and field', () => {
  using place = new Place();
  const options = { clock: systemClock, environment: place.environment };
  const choose = (text: string) => () =>
    chooseAgent({ agent: 'scripted', script: place.write('script.json', text) }, options);
  assert.throws(choose('{'), /script\.json: can't be read as JSON/);
  assert.throws(choose('{"code":[],"more":1}'), /script\.json: the script: .*more/);
  const outside = '{"code":[{"write":{"path":"../x","text":""}}]}';
  assert.throws(choose(outside), /script\.json: code\.0/);
});
