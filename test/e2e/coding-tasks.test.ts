import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { systemClock } from '../../packages/capataz/src/std/clock.ts';
import { Program } from './program.ts';

test('C-1 C-13 the demo of the coding tasks: wrong at first, right after the feedback, by the command line alone', async () => {
  const before = systemClock.steady();
  await using demo = new Program('apps/coding-tasks/demo/main.ts', [], tmpdir());
  assert.equal(await demo.ended(), 0, demo.stderr);
  const steps = [
    /\$ capataz-coding serve /,
    /\$ capataz-coding task new .*\n[0-9a-f-]{36}\n/,
    /\$ capataz-coding task show .*\n.*ESPERANDO_APROBACION_PLAN\n[\s\S]*Write sum\.js/,
    /\$ capataz-coding task approve .*--plan .*--hash /,
    /ESPERANDO_FEEDBACK_INTERNO/,
    /\$ git diff main [\s\S]*\+export const sum = \(a, b\) => a \+ b;/,
    /COMPLETADA in round 2, for \$0\.03/,
  ];
  let rest = demo.stdout;
  for (const step of steps) {
    const match = step.exec(rest);
    assert.ok(match, `no ${step} in:\n${rest}`);
    rest = rest.slice(match.index + match[0].length);
  }
  const seconds = (systemClock.steady() - before) / 1_000;
  assert.ok(seconds < 90, `it took ${seconds} s`);
});
