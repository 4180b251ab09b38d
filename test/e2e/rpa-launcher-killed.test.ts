/** The launcher as a process: killed around deploy calls, started wrong, and stopped. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../packages/capataz/src/std/clock.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';
import { killAround } from './rpa-launcher-kill-around.ts';
import { RpaSite } from './rpa-launcher-site.ts';

test('LH-1, LH-20: killed ten times around deploy calls and their records: no robot runs twice, none is forgotten', {
  timeout: 300_000,
}, async () => {
  await killAround(10);
});

test('L-54: an interval that is empty ends the start at once, with its name, and nobody is asked anything', async () => {
  await using site = await RpaSite.open({
    robots: 1,
    variables: { LANZADOR_INTERVALO_LANZAMIENTO_SEG: '' },
  });
  await assert.rejects(site.start(), /LANZADOR_INTERVALO_LANZAMIENTO_SEG/);
  assert.equal(site.fake.calls.seen().length, 0);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`L-55, L-70: started by hand, ${signal} ends what runs, logs out and exits with 0`, async () => {
    await using site = await RpaSite.open({ robots: 1 });
    await site.schedule(1);
    const launcher = await site.start();
    await until(() => site.fake.runs.length > 0);
    assert.equal(await launcher.stop(signal), 0);
    assert.equal(site.fake.calls.count('logout'), 1);
  });

test('L-56, L-57: a deploy call that hangs ends with the time that a stop may take, whatever signals come', {
  timeout: 60_000,
}, async () => {
  await using site = await RpaSite.open({
    robots: 1,
    variables: { LANZADOR_SHUTDOWN_TIMEOUT_SEG: '2', AA_API_TIMEOUT_SECONDS: '60' },
  });
  site.fake.faults.add({ endpoint: 'deploy', answerDelayMs: 50_000 });
  await site.schedule(1);
  const launcher = await site.start();
  await until(() => site.fake.runs.length > 0);
  const begun = systemClock.steady();
  launcher.signal('SIGTERM');
  launcher.signal('SIGINT');
  const code = await launcher.stop('SIGTERM');
  const seconds = (systemClock.steady() - begun) / 1_000;
  assert.equal(code, 1);
  assert.ok(seconds > 1.5 && seconds < 20, `${seconds} s`);
});
