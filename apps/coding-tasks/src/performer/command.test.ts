import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from 'capataz/server';
import { type CommandOptions, runCommand } from './command.ts';
import { Place, until } from './fixtures/place.ts';
import { findStrays, killStrays, ownerVariable } from './strays.ts';

function run(place: Place, script: string, options: Partial<CommandOptions> = {}) {
  const environment = { ...place.environment, [ownerVariable]: place.folder };
  const argv = ['bash', '-c', script] as const;
  return runCommand(
    { argv, folder: place.folder, environment },
    { clock: systemClock, ...options },
  );
}

test('what a command leaves in its group ends with it, and does not hold it open', async () => {
  using place = new Place();
  assert.deepEqual(await run(place, 'sleep 600 & exit 3'), { how: 'exited', code: 3 });
  await until(() => findStrays(ownerVariable, place.folder).length === 0);
});

test('what has left the group is found by its mark', async () => {
  using place = new Place();
  const away = `setsid sh -c 'touch away; exec sleep 600' >/dev/null 2>&1 &`;
  const ended = await run(place, `${away} while ! test -e away; do sleep 0.02; done`);
  assert.equal(ended.how, 'exited');
  await until(() => findStrays(ownerVariable, place.folder).length === 1);
  assert.equal(killStrays(ownerVariable, place.folder), 1);
  await until(() => findStrays(ownerVariable, place.folder).length === 0);
});

test('a command that is cancelled may tidy up; one that will not end is killed', async () => {
  using place = new Place();
  const said: string[] = [];
  for (const script of [
    'trap "echo tidied; exit 0" TERM; echo ready; while :; do sleep 0.05; done',
    'trap "" TERM; echo ready; while :; do sleep 0.05; done',
  ]) {
    const abort = new AbortController();
    const onOutput = (text: string, stream: string) => {
      if (stream === 'out') said.push(text.trim());
      abort.abort();
    };
    const ended = await run(place, script, { signal: abort.signal, graceMs: 300, onOutput });
    assert.deepEqual(ended, { how: 'cancelled' });
  }
  assert.deepEqual(said, ['ready', 'tidied', 'ready']);
});

test('text that is cut between two bytes of a character comes whole', async () => {
  using place = new Place();
  let said = '';
  await run(place, `printf '\\xc3'; sleep 0.1; printf '\\xa9'`, {
    onOutput: (text) => {
      said += text;
    },
  });
  assert.equal(said, 'é');
});
