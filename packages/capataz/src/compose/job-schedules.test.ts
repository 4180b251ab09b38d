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
import { until } from '../testing/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'capataz-job-schedules-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const report = blueprint({
  name: 'report',
  version: 1,
  states: { begin: { start: true, end: true, handle: ({ input }) => finish(input) } },
});

function fileWith(text: string): string {
  const path = join(folder, 'schedules.toml');
  writeFileSync(path, text);
  return path;
}

const { start } = createServer({ log: silentLog, blueprints: [report] });

const config = (schedules: string) => ({ port: 0, dataDir: join(folder, 'data'), schedules });

test('A-44: a server starts the jobs of schedules.toml, each slot once over restarts', async () => {
  const schedules = fileWith(`
[hourly]
blueprint = "report"
every = "1h"
input = { kind = "full" }
`);
  const clock = new MovableClock(systemClock);
  let expected = 0;
  for (let round = 0; round < 3; round += 1) {
    const server = await start({ config: config(schedules), clock });
    try {
      clock.advance(3_600_000);
      expected += 1;
      const list = () => server.client().jobs.list({ attributes: { schedule: 'hourly' } });
      await until(async () => (await list()).jobs.length >= expected);
      const { jobs } = await list();
      assert.equal(new Set(jobs.map(({ attributes }) => attributes.slot)).size, jobs.length);
      // It is more where an hour of the real clock ends just now.
      expected = jobs.length;
      assert.deepEqual(jobs.at(-1)?.result, { kind: 'full' });
    } finally {
      await server.stop();
    }
  }
});

test('A-54: a schedule whose blueprint or client is not there stops the start', async () => {
  const schedules = fileWith(`
[a]
blueprint = "rapport"
every = "1h"
[b]
blueprint = "report"
version = 2
every = "1h"
client = "acme"
`);
  await assert.rejects(start({ config: config(schedules) }), {
    code: 'CONFIG_INVALID',
    message: [
      `${schedules}: [a] blueprint: there is no blueprint "rapport"`,
      `${schedules}: [b] blueprint: there is no blueprint "report" of version 2`,
      `${schedules}: [b] client: there is no client "acme"`,
    ].join('\n'),
  });
});
