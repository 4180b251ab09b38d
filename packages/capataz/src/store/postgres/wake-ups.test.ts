import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../std/log.ts';
import { until } from '../../testing/until.ts';
import { VirtualClock } from '../../testing/virtual-clock.ts';
import { installedDriver, placeOf } from './open.ts';
import { WakeUps } from './wake-ups.ts';

test('A-60 a server that can not listen to the database says so once', async () => {
  const told: unknown[] = [];
  const log = { ...silentLog, warn: (...line: unknown[]) => told.push(line) };
  const clock = new VirtualClock();
  // Nobody listens there.
  const place = placeOf('postgres://nobody@127.0.0.1:1/none');
  const settings = { ...place, connectTimeoutMs: 1_000, statementTimeoutMs: 1_000 };
  const wakeUps = new WakeUps({ driver: await installedDriver(), settings, clock, log, own: 'me' });
  let looks = 0;
  wakeUps.subscribe(({ type }) => (looks += type === 'anything' ? 1 : 0));
  await until(async () => {
    await clock.advance(5_000);
    return looks >= 3 && told.length > 0;
  });
  assert.equal(told.length, 1);
  assert.match(JSON.stringify(told), /cannot listen.*every 15 s only.*ECONNREFUSED/);
  await wakeUps.close();
});
