/** Two servers with clocks of their own over one PostgreSQL. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { blueprint, finish } from 'capataz';
import { createServer } from 'capataz/server';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { MovableClock } from '../std/movable-clock.ts';
import { Schemas } from '../store/postgres/fixtures/schemas.ts';
import { until } from '../testing/until.ts';

const schemas = Schemas.ofThisFile();
const folder = mkdtempSync(join(tmpdir(), 'capataz-shared-schedules-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const hour = 3_600_000;

const report = blueprint({
  name: 'report',
  version: 1,
  states: { begin: { start: true, end: true, handle: () => finish({}) } },
});

const schedules = join(folder, 'schedules.toml');
writeFileSync(schedules, '[daily]\nblueprint = "report"\ndaily_at = "12:00"\ntolerance = "1s"\n');

test('A-44 A-61 B-047 B-050: two instances on PostgreSQL make one job a slot, over restarts, and obey one pause', async () => {
  const schema = schemas.newName();
  const storeUrl = schemas.urlOf(schema);
  const { start } = createServer({ log: silentLog, blueprints: [report] });
  // The wall of both shows the same, and each has its own alarms.
  let passed = 0;
  const up = async (place: string) => {
    const clock = new MovableClock(systemClock);
    clock.advance(passed);
    const config = { port: 0, dataDir: join(folder, place), schedules, storeUrl };
    return { clock, server: await start({ config, clock }) };
  };
  const servers = [await up('one'), await up('two')];
  const client = () => servers[1]?.server.client() ?? assert.fail('there is no second server');
  const slots = async (): Promise<unknown[]> =>
    (await client().jobs.list()).jobs.map(({ attributes }) => attributes.slot);
  const passDay = async (): Promise<void> => {
    passed += 24 * hour;
    for (const { clock } of servers) clock.advance(24 * hour);
  };
  const noted = async (): Promise<string | undefined> =>
    (await client().schedules.list())[0]?.recent[0]?.slot;
  try {
    await until(async () => (await client().schedules.list())[0]?.next_starts.length === 3);
    for (let day = 1; day <= 4; day += 1) {
      const before = await noted();
      await passDay();
      await until(async () => (await noted()) !== before && (await slots()).length >= day);
      await servers[0]?.server.stop();
      servers[0] = await up('one');
    }
    assert.equal(new Set(await slots()).size, 4);
    assert.equal((await slots()).length, 4);
    await servers[0]?.server.client().schedules.pause('daily');
    await passDay();
    await passDay();
    await servers[1]?.server.stop();
    servers[1] = await up('two');
    assert.equal((await client().schedules.list())[0]?.paused, true);
    assert.equal((await slots()).length, 4);
    await client().schedules.resume('daily');
    const outcomes = async (): Promise<string> => {
      const [{ recent = [] } = {}] = await client().schedules.list();
      return recent.map(({ outcome }) => outcome).join(' ');
    };
    await until(async () => (await outcomes()).startsWith('started missed started'));
    assert.equal((await slots()).length, 5);
  } finally {
    for (const { server } of servers) await server.stop();
    await schemas.drop(schema);
  }
});
