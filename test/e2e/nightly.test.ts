import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { outputOf } from './program.ts';

test('A-44: the nightly example shows nights on which the clocks change, a blackout and a pause', async () => {
  let rest = await outputOf('examples/nightly/demo.ts', [], tmpdir());
  const steps = [
    /\$ capataz schedules check\nok +report: next .*\nok +sync: next /,
    /Sun 2026-03-29 03:00:00 \+02:00 +2026-03-29T01:00:00Z +clocks 02:00 → 03:00 on 2026-03-29\n/,
    /Sun 2026-10-25 01:00:00 \+02:00 .* never +left out: blackout maintenance\n/,
    /Sun 2026-10-25 02:00:00 \+01:00 .* second time by the clock\n/,
    /\$ capataz schedules list .*\n.*\nreport +daily at 02:30 .* started [0-9a-f-]{36}\nsync /,
    /\$ capataz jobs list --attr schedule=report .*\n.*\n(?:.* report +write +finished .*\n)+\n/,
    /\nsync is paused\n/,
    /\nsync is resumed: next /,
    // The last slot of the pause, those before it, and the night before it.
    /\n[-\d]{10} [:\d]{8} +started +[0-9a-f-]{36}\n\S+ \S+ +\S+ \S+ +missed +catch_up = "last"\n/,
    / blackout +maintenance\n/,
  ];
  for (const step of steps) {
    const match = step.exec(rest);
    assert.ok(match, `no ${step} in:\n${rest}`);
    rest = rest.slice(match.index + match[0].length);
  }
});
