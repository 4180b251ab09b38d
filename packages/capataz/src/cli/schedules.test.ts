import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folderWith, runIn } from './fixtures/context.ts';

const file = `
[nightly]
blueprint = "report"
daily_at = "02:30"
zone = "Europe/Berlin"

[hourly]
blueprint = "sync"
cron = "0 * * * *"
zone = "America/New_York"
jitter = "5m"
blackouts = ["night"]
in_blackout = "postpone"
paused = true

[blackouts.night]
from = "22:30"
to = "05:30"
zone = "America/New_York"
`;

const folder = folderWith({ 'schedules.toml': file, 'bad.toml': '[a]\nevery = "5x"\n' });

test('A-44: preview shows slots in local time and UTC, and where the clocks change', async () => {
  const ran = await runIn(folder, [
    ...['schedules', 'preview', 'nightly', '--from', '2026-03-28', '--count', '3'],
  ]);
  assert.equal(ran.code, 0, ran.stderr);
  assert.deepEqual(ran.stdout.split('\n'), [
    'nightly  Europe/Berlin',
    'SLOT                            UTC                   STARTS',
    'Sat 2026-03-28 02:30:00 +01:00  2026-03-28T01:30:00Z',
    'Sun 2026-03-29 03:00:00 +02:00  2026-03-29T01:00:00Z          clocks 02:00 → 03:00 on 2026-03-29',
    'Mon 2026-03-30 02:30:00 +02:00  2026-03-30T00:30:00Z',
    '',
  ]);
});

test('preview marks blackouts, jitter and what the clock shows twice', async () => {
  const ran = await runIn(folder, [
    ...['schedules', 'preview', 'hourly', '--from', '2026-11-01T00:00', '--count', '8'],
  ]);
  const lines = ran.stdout.split('\n');
  assert.equal(lines[0], 'hourly  America/New_York  paused');
  assert.match(
    lines[2] ?? '',
    /^Sun 2026-11-01 00:00:00 -04:00 .* never +left out: blackout night$/,
  );
  assert.match(
    lines[4] ?? '',
    /01:00:00 -05:00 .*clocks 02:00 → 01:00 .*; second time by the clock;/,
  );
  assert.match(lines[8] ?? '', /05:00:00 -05:00 .*\+3\dm\d*s? +behind blackout night$/);
  assert.match(lines[9] ?? '', /06:00:00 -05:00 {2}2026-11-01T11:00:00Z {2}\+/);
});

test('preview takes a rule instead of a name, a zone, and writes JSON', async () => {
  const ran = await runIn(folder, [
    ...['schedules', 'preview', '--rule', 'weekly_days = ["mon"], time = "09:00"'],
    ...['--zone', 'Asia/Kathmandu', '--from', '2026-01-05T03:15:00Z', '--count', '2', '--json'],
  ]);
  assert.equal(ran.code, 0, ran.stderr);
  assert.partialDeepStrictEqual(JSON.parse(ran.stdout), {
    schedule: 'rule',
    zone: 'Asia/Kathmandu',
    slots: [
      { slot: '2026-01-05T03:15:00Z', local: 'Mon 2026-01-05 09:00:00 +05:45', clock_changes: [] },
      { slot: '2026-01-12T03:15:00Z', starts_at: '2026-01-12T03:15:00.000Z', blackout: null },
    ],
  });
});

test('what preview cannot know is a wrong word', async () => {
  const said = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await runIn(folder, ['schedules', 'preview', ...args]);
    assert.equal(code, 2, stderr);
    return stderr;
  };
  assert.match(await said(), /name a schedule, or give a rule/);
  assert.match(await said('weekly'), /no schedule "weekly"; there are nightly, hourly/);
  assert.match(await said('nightly', '--count', '0'), /--count must be from 1 to 1000/);
  assert.match(await said('nightly', '--from', 'noon'), /--from must be like/);
  assert.match(await said('nightly', '--zone', 'here'), /--zone must be a zone/);
  assert.match(await said('--rule', 'cron = "0 0 30 2 *"'), /\[rule\] cron: .* never comes/);
});

test('check tells the next slot of each schedule, or all that is wrong', async () => {
  const good = await runIn(folder, ['schedules', 'check']);
  assert.equal(good.code, 0, good.stderr);
  assert.match(good.stdout, /^ok {3}nightly: next \d{4}-.* UTC\nok {3}hourly: paused\n$/);
  const bad = await runIn(folder, ['schedules', 'check', '--schedules', 'bad.toml']);
  assert.equal(bad.code, 1);
  assert.match(
    bad.stdout,
    /^bad {2}.*bad\.toml: \[a\] every: .*\nbad {2}.*blueprint: is missing\n$/,
  );
  const json = await runIn(folder, ['schedules', 'check', '--json']);
  assert.partialDeepStrictEqual(JSON.parse(json.stdout), {
    problems: [],
    schedules: [{ name: 'nightly', paused: false }, { name: 'hourly' }],
  });
  assert.equal((await runIn(folderWith(), ['schedules', 'check'])).code, 2);
});
