import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { systemClock } from '../../packages/capataz/src/std/clock.ts';
import { Program } from './program.ts';

test('the approval example fans out, waits for a person, escalates and ends, by the command line alone', async () => {
  const before = systemClock.steady();
  await using demo = new Program('examples/approval/demo.ts', [], tmpdir());
  assert.equal(await demo.ended(), 0, demo.stderr);
  const steps = [
    /\$ capataz dev .*\n[\s\S]*listening on /,
    /\$ capataz jobs start release .*\n[0-9a-f-]{36}\n/,
    /fan_out_begun +tested/,
    /fan_out_ended +tested/,
    /approval_asked +editor/,
    /wait_timed_out +editor/,
    /approval_asked +chief/,
    /\$ capataz why .*\nit waits for a person to decide: "The editor is silent/,
    /approval_decided +chief +approved +by Ana/,
    /\$ capataz jobs show .*\n[\s\S]*status +finished\nstate +publish\n/,
  ];
  let rest = demo.stdout;
  for (const step of steps) {
    const match = step.exec(rest);
    assert.ok(match, `no ${step} in:\n${rest}`);
    rest = rest.slice(match.index + match[0].length);
  }
  const seconds = (systemClock.steady() - before) / 1_000;
  assert.ok(seconds < 20, `it took ${seconds} s`);
});
