/** Two launchers as processes on one PostgreSQL, the working one of which is killed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDevice, addRobot, addSchedule } from '../../apps/rpa-launcher/src/simulation/tables.ts';
import { PostgresRoom } from '../../packages/capataz/src/bus/postgres/fixtures/postgres-room.ts';
import { systemClock } from '../../packages/capataz/src/std/clock.ts';
import { postgresService } from '../../packages/capataz/src/testing/postgres-service.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';
import { endedOnce } from './rpa-launcher-ended.ts';
import { RpaSite } from './rpa-launcher-site.ts';

const devices = 12;
const robotsADevice = 2;
const robots = devices * robotsADevice;

test('LH-20: of two launchers on one PostgreSQL the one at work is killed amid its calls: the other goes on, no slot runs twice, no device has two robots, and none is forgotten', {
  timeout: 120_000,
}, async () => {
  const database = await postgresService();
  await using store = new PostgresRoom(database.url);
  await using tables = new PostgresRoom(database.url);
  await using site = await RpaSite.open({
    ...{ robots, devices, databaseUrl: tables.url },
    variables: { LANZADOR_MAX_WORKERS: '3' },
  });
  const HoraInicio = new Date(systemClock.now() - 60_000).toISOString().slice(11, 16);
  await site.prepare(async (db) => {
    for (let device = 1; device <= devices; device += 1) await addDevice(db, device);
    for (let n = 0; n < robots; n += 1) {
      const RobotId = 9_001 + n;
      await addRobot(db, { RobotId, Robot: `P${RobotId}_Robot` });
      await addSchedule(db, { RobotId, HoraInicio, Tolerancia: 1_200 }, [101 + (n % devices)]);
    }
  });
  site.fake.faults.add({ endpoint: 'deploy', delayMs: 40, answerDelayMs: 40 });
  const environment = {
    CAPATAZ_RPA_DATABASE_URL: tables.url,
    CAPATAZ_STORE_URL: store.url,
  };

  const first = await site.start({ data: 'first', environment });
  await until(() => first.stderr.includes('this launcher is on turn'));
  const second = await site.start({ data: 'second', environment });
  await until(() => second.stderr.includes('this one stands by'));
  // Calls of a batch are under way whenever it happens.
  await until(() => site.fake.calls.count('deploy') > devices / 2);
  await first.kill();
  const before = site.fake.calls.count('deploy');
  assert.ok(before < robots, `${before} deploy calls before the kill leave nothing to take over`);

  // The minute of its silence, by the clock of the database.
  await tables.rows(`UPDATE "Ciclos" SET "HastaUtc" = 0 WHERE "Ciclo" = 'turno'`);
  await second.advance(15_000);
  await until(() => second.stderr.includes('this launcher is on turn'));
  await endedOnce(site, second, robots);
  const ofDevice = Map.groupBy(site.fake.runs, ({ deviceId }) => deviceId);
  assert.equal(ofDevice.size, devices);
  for (const [device, [one, other, ...further]] of ofDevice) {
    assert.equal(further.length, 0);
    const endedAt = one?.endedAt ?? Number.POSITIVE_INFINITY;
    assert.ok((other?.acceptedAt ?? 0) >= endedAt, `two robots at once on device ${device}`);
  }
  assert.equal(await second.stop(), 0);
  await database.close();
});

test('LH-20: a launcher that shares the tables of another, and not its jobs, says that it would run everything again', {
  timeout: 60_000,
}, async () => {
  const database = await postgresService();
  await using tables = new PostgresRoom(database.url);
  await using site = await RpaSite.open({ robots: 1, databaseUrl: tables.url });
  const environment = { CAPATAZ_RPA_DATABASE_URL: tables.url };
  const first = await site.start({ data: 'first', environment });
  await until(() => first.stderr.includes('this launcher is on turn'));
  const second = await site.start({ data: 'second', environment });
  await until(() => second.stderr.includes('this one stands by'));
  assert.match(second.stderr, /\[ERROR\] .*has jobs of its own.*give both one store_url/);
  assert.doesNotMatch(first.stderr, /jobs of its own/);
  await database.close();
});
