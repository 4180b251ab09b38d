import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { Place } from '../performer/fixtures/place.ts';
import { checkAgent, type KnownAgent, knownAgents } from './check-agent.ts';
import { presets } from './presets.ts';

function known(name: string): KnownAgent {
  const agent = knownAgents.find((one) => one.name === name);
  assert.ok(agent !== undefined);
  return agent;
}

/** A fake of an agent that can print its help alone. */
function fake(place: Place, name: string, help: string, code = 0): void {
  const program = `#!/bin/sh\ncat <<'END'\n${help}\nEND\nexit ${code}\n`;
  chmodSync(place.write(`bin/${name}`, program), 0o755);
}

function surroundings(place: Place) {
  const environment = { ...place.environment, PATH: `${place.path('bin')}:/usr/bin:/bin` };
  return { clock: systemClock, environment, folder: place.folder };
}

test('agents check: ok, a flag missing, no help, not installed', async () => {
  using place = new Place();
  const where = surroundings(place);
  const claude = known('claude');
  const nothing = { agent: 'claude', missing: [], problem: null };
  assert.deepEqual(await checkAgent(claude, where), { ...nothing, status: 'not_installed' });
  const half = '--print-all --output-format (text, stream-json) --verbose --permission-mode <m>';
  fake(place, 'claude', half);
  assert.deepEqual(await checkAgent(claude, where), {
    ...nothing,
    status: 'flag_missing',
    missing: ['--print', '--resume'],
  });
  fake(place, 'claude', `${half} -p, --print -r, --resume`);
  assert.deepEqual(await checkAgent(claude, where), { ...nothing, status: 'ok' });
  fake(place, 'claude', 'no node here', 127);
  assert.deepEqual(await checkAgent(claude, where), {
    ...nothing,
    status: 'no_help',
    problem: 'claude --help ended with code 127',
  });
  fake(place, 'gemini', '--prompt');
  assert.deepEqual((await checkAgent(known('gemini-acp'), where)).missing, ['--acp']);
  fake(place, 'codex-acp', '');
  assert.equal((await checkAgent(known('codex-acp'), where)).status, 'ok');
});

test('agents check: no preset uses a long flag that is not looked for', () => {
  for (const { template, helps } of Object.values(presets)) {
    const words = helps.flatMap((help) => help.words);
    const used = [...template.args.plan, ...template.args.code, ...template.resume];
    for (const flag of used.filter((arg) => arg.startsWith('--')))
      assert.ok(words.includes(flag), `${template.name} ${flag}`);
  }
});
