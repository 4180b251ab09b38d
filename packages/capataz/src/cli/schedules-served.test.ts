/** Schedules of a server, over the API, the client and the command line. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { blueprint, finish } from 'capataz';
import { createClient } from 'capataz/client';
import { readSchedules } from '../config/schedules-file.ts';
import { scrape } from '../metrics/fixtures/scenes.ts';
import { ask } from '../testing/ask.ts';
import {
  type ServedEngine,
  type ServedEngineOptions,
  serveEngine,
} from '../testing/served-engine.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { folderWith, type Ran, runIn } from './fixtures/context.ts';

const hour = 3_600_000;

const report = blueprint({
  name: 'report',
  version: 1,
  states: { begin: { start: true, end: true, handle: () => finish({}) } },
});

const file = `
[hourly]
blueprint = "report"
cron = "0 * * * *"
zone = "Asia/Kathmandu"
jitter = "10m"
catch_up = "skip"
blackouts = ["noon"]

[monthly]
blueprint = "report"
monthly_dates = [1, "last"]
time = ["02:30", "03:30"]
paused = true

[other]
blueprint = "report"
client = "bob"
every = "6h"

[blackouts.noon]
from = "11:30"
to = "13:30"
zone = "Asia/Kathmandu"
`;

const folder = folderWith({ 'schedules.toml': file });

interface Parts {
  readonly served: ServedEngine;
  readonly capataz: (...args: string[]) => Promise<Ran>;
}

async function serve(
  work: (parts: Parts) => Promise<void>,
  options: Partial<ServedEngineOptions> = {},
): Promise<void> {
  const clock = new VirtualClock();
  const path = join(folder, 'schedules.toml');
  const schedules = readSchedules(path, { zone: 'UTC', now: clock.now() });
  await using served = await serveEngine({ blueprints: [report], clock, schedules, ...options });
  const capataz = (...args: string[]) => runIn(folder, ['schedules', ...args, '--url', served.url]);
  await clock.advance(0);
  await work({ served, capataz });
}

test('A-44: the API tells of each schedule its rule, its next starts, and what became of its last slots', () =>
  serve(async ({ served: { url, clock } }) => {
    const client = createClient({ url });
    const [fresh, monthly, ...others] = await client.schedules.list();
    assert.deepEqual(others, []);
    assert.partialDeepStrictEqual(monthly, {
      name: 'monthly',
      rule: 'monthly on 1, last at 02:30, 03:30',
      paused: true,
      paused_at: null,
      paused_by: 'schedules.toml',
      next_starts: [
        '2026-01-01T02:30:00.000Z',
        '2026-01-01T03:30:00.000Z',
        '2026-01-31T02:30:00.000Z',
      ],
      recent: [],
    });
    assert.partialDeepStrictEqual(fresh, {
      name: 'hourly',
      blueprint: 'report',
      rule: 'cron 0 * * * *',
      zone: 'Asia/Kathmandu',
      jitter: '10m',
      overlap: 'allow',
      catch_up: 'skip',
      blackouts: ['noon'],
      in_blackout: 'skip',
      paused: false,
      recent: [],
    });
    // From 05:45 to 14:45 by the wall there.
    await clock.advance(9 * hour);
    const [schedule] = await client.schedules.list();
    const told = schedule?.recent.map(({ outcome, first_slot, slot, reason }) =>
      [outcome, first_slot.slice(11, 16), slot.slice(11, 16), reason].join(' '),
    );
    assert.deepEqual(told?.slice(0, 3), [
      'started 08:15 08:15 ',
      'blackout 06:15 07:15 noon',
      'started 05:15 05:15 ',
    ]);
    const job = await client.jobs.get(schedule?.recent[0]?.job_id ?? '');
    assert.equal(job.attributes.slot, schedule?.recent[0]?.slot);
    assert.equal(schedule?.next_starts.length, 3);
    assert.match(schedule?.next_starts[0] ?? '', /^2026-01-01T09:(?:1[5-9]|2[0-5]):/);
  }));

test('B-050: a schedule is paused and resumed over the API by who may see it, and by nobody else', async () => {
  const clients = ['dev', 'bob'].map((name) => ({ name, token: `${name}-token-long-enough` }));
  const access = { clients, workers: null, commonWorkerToken: null };
  await serve(
    async ({ served: { url, clock } }) => {
      const [dev, bob] = clients.map(({ token }) => createClient({ url, token }));
      assert.ok(dev !== undefined && bob !== undefined);
      const names = (await bob.schedules.list()).map(({ name }) => name);
      assert.deepEqual(names, ['other']);
      for (const name of ['hourly', 'nobody']) {
        await assert.rejects(bob.schedules.pause(name), {
          code: 'SCHEDULE_NOT_FOUND',
          status: 404,
        });
        await assert.rejects(bob.schedules.resume(name), { code: 'SCHEDULE_NOT_FOUND' });
      }
      const paused = await bob.schedules.pause('other');
      const paused_at = new Date(clock.now()).toISOString();
      assert.partialDeepStrictEqual(paused, { paused: true, paused_at, paused_by: 'bob' });
      await clock.advance(7 * hour);
      assert.deepEqual((await bob.jobs.list()).jobs, []);
      const resumed = await bob.schedules.resume('other');
      assert.partialDeepStrictEqual(resumed, { paused: false, paused_at: null, paused_by: null });
      await clock.advance(0);
      const { jobs } = await bob.jobs.list();
      assert.deepEqual(
        jobs.map(({ attributes }) => attributes.slot),
        ['2026-01-01T06:00:00.000Z'],
      );
      const [{ recent: [record] = [] } = {}] = await bob.schedules.list();
      assert.partialDeepStrictEqual(record, { outcome: 'started', job_id: jobs[0]?.id });
      assert.equal((await ask(url, 'POST /api/v1/schedules/other/pause')).status, 401);
    },
    { access },
  );
});

test('A-44: capataz schedules list, pause and resume', () =>
  serve(async ({ served, capataz }) => {
    await served.clock.advance(hour);
    const list = await capataz('list');
    assert.equal(list.code, 0, list.stderr);
    assert.match(list.stdout, /^SCHEDULE +RULE +ZONE +NEXT \(UTC\) +LAST\n/);
    assert.match(
      list.stdout,
      /^hourly +cron 0 \* \* \* \* +Asia\/Kathmandu +2026-01-01 01:\d\d:\d\d +2026-01-01 00:15:00 +started [0-9a-f-]{36}$/m,
    );
    assert.match(list.stdout, /^monthly .* UTC +paused by schedules\.toml$/m);
    const paused = await capataz('pause', 'hourly');
    assert.equal(paused.stdout, 'hourly is paused\n', paused.stderr);
    assert.match((await capataz('list')).stdout, /^hourly .* paused by dev /m);
    await served.clock.advance(5 * hour);
    const resumed = await capataz('resume', 'hourly');
    assert.match(resumed.stdout, /^hourly is resumed: next 2026-01-01 08:\d\d:\d\d UTC\n$/);
    await served.clock.advance(0);
    assert.match((await capataz('list')).stdout, /^hourly .* missed: catch_up = "skip"$/m);
    const shown = await capataz('show', 'hourly');
    assert.match(
      shown.stdout,
      /^rule +cron 0 .*, Asia\/Kathmandu\n[\s\S]*^blackouts +noon: skip\n/m,
    );
    assert.match(
      shown.stdout,
      /\n\nSLOT \(UTC\) +TO +BECAME +JOB OR REASON\n2026-01-01 01:15:00 +2026-01-01 05:15:00 +missed +catch_up = "skip"\n2026-01-01 00:15:00 +started +[0-9a-f-]{36}\n$/,
    );
    assert.equal((await capataz('show', 'nobody')).code, 4);
    const still = await capataz('resume', 'monthly');
    assert.equal(still.stdout, 'monthly is still paused: schedules.toml says so\n');
    const json = JSON.parse((await capataz('list', '--json')).stdout);
    assert.partialDeepStrictEqual(json, { schedules: [{ name: 'hourly' }, { name: 'monthly' }] });
    const one = JSON.parse((await capataz('pause', 'hourly', '--json')).stdout);
    assert.partialDeepStrictEqual(one, { name: 'hourly', paused: true });
    assert.equal(JSON.parse((await capataz('resume', 'hourly', '--json')).stdout).paused, false);
    const unknown = await capataz('pause', 'nobody');
    assert.equal(unknown.code, 4);
    assert.match(unknown.stderr, /SCHEDULE_NOT_FOUND: there is no schedule "nobody"/);
  }));

test('A-44: slots are counted by schedule and by what became of them', () =>
  serve(async ({ served }) => {
    await served.clock.advance(9 * hour);
    const { values } = await scrape(served);
    const count = (schedule: string, outcome: string): number | undefined =>
      values.get(`schedule_slots_total{schedule="${schedule}",outcome="${outcome}"}`);
    assert.deepEqual([count('hourly', 'started'), count('hourly', 'blackout')], [7, 2]);
    assert.equal(count('other', 'started'), 1);
    assert.equal(count('monthly', 'started'), undefined);
  }));
