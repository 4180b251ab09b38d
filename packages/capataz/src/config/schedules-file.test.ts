import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { CapatazError } from '../protocol/errors.ts';
import { readRuleText, readSchedules } from './schedules-file.ts';

const now = Date.UTC(2026, 0, 1);

const folder = mkdtempSync(join(tmpdir(), 'capataz-schedules-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function fileWith(text: string): string {
  const path = join(folder, 'schedules.toml');
  writeFileSync(path, text);
  return path;
}

function problemsOf(text: string): string[] {
  const file = fileWith(text);
  let lines: string[] = [];
  assert.throws(
    () => readSchedules(file, { zone: 'UTC', now }),
    (error: CapatazError) => {
      assert.equal(error.code, 'CONFIG_INVALID');
      lines = error.message.split('\n').map((line) => line.replace(`${file}: `, ''));
      return true;
    },
  );
  return lines;
}

test('A-44: a schedule of the fewest fields, and one of all', () => {
  const { schedules, blackouts } = readSchedules(
    fileWith(`
[tick]
blueprint = "sync"
every = "15m"

[nightly]
blueprint = "report"
version = 3
client = "acme"
input = { kind = "full" }
attributes = { team = "ops" }
priority = 5
dispatch_timeout = "1h"
result_timeout = "2h"
weekly_days = ["mon", "fri"]
time = ["02:30", "14:30"]
zone = "Europe/Berlin"
jitter = "5m"
catch_up = "all"
catch_up_limit = 7
tolerance = "10m"
overlap = "skip"
blackouts = ["night"]
in_blackout = "postpone"
paused = true

[blackouts.night]
from = "22:00"
to = "06:00"
days = ["sun"]
`),
    { zone: 'America/Bogota', now },
  );
  const [tick, nightly] = schedules;
  assert.deepEqual(tick, {
    name: 'tick',
    start: { blueprint: 'sync', input: {}, attributes: {} },
    rule: { every: '15m' },
    zone: 'America/Bogota',
    jitterMs: 0,
    catchUp: { policy: 'last', limit: 100, toleranceMs: 60_000 },
    overlap: 'allow',
    blackouts: [],
    inBlackout: 'skip',
    isPaused: false,
  });
  assert.deepEqual(nightly, {
    name: 'nightly',
    start: {
      blueprint: 'report',
      version: 3,
      client: 'acme',
      input: { kind: 'full' },
      attributes: { team: 'ops' },
      priority: 5,
      dispatchTimeoutMs: 3_600_000,
      resultTimeoutMs: 7_200_000,
    },
    rule: { weeklyDays: ['mon', 'fri'], time: ['02:30', '14:30'] },
    zone: 'Europe/Berlin',
    jitterMs: 300_000,
    catchUp: { policy: 'all', limit: 7, toleranceMs: 600_000 },
    overlap: 'skip',
    blackouts: ['night'],
    inBlackout: 'postpone',
    isPaused: true,
  });
  assert.deepEqual(blackouts, {
    night: { from: '22:00', to: '06:00', days: ['sun'], zone: 'America/Bogota' },
  });
});

test('every form of a rule is read, the words of the seed too', () => {
  const { schedules } = readSchedules(
    fileWith(`
[a]
blueprint = "b"
interval_seconds = 900
anchor = 2026-01-05T06:00:00+01:00
input_data = { n = 1 }
[b]
blueprint = "b"
daily_at = "02:30"
[c]
blueprint = "b"
monthly_dates = [1, "last"]
time = "09:00"
[d]
blueprint = "b"
cron = "*/15 8-18 * * mon-fri"
`),
    { zone: 'UTC', now },
  );
  const [a, b, c, d] = schedules.map(({ rule }) => rule);
  assert.partialDeepStrictEqual(a, { every: '900s' });
  assert.deepEqual(schedules[0]?.start.input, { n: 1 });
  assert.deepEqual(b, { dailyAt: '02:30' });
  assert.deepEqual(c, { monthlyDates: [1, 'last'], time: '09:00' });
  assert.deepEqual(d, { cron: '*/15 8-18 * * mon-fri' });
});

test('A-54, B-044: what is wrong is named by file, entry and field, all at once', () => {
  const problems = problemsOf(`
loose = 1
[a]
blueprnt = "x"
daily_at = "2:30"
[b]
blueprint = "x"
cron = "0 0 30 2 *"
zone = "Mars/Olympus"
[c]
blueprint = ""
monthly_dates = [0]
time = "00:00"
blackouts = ["nigth"]
jitter = 5
[d]
blueprint = "x"
every = "5m"
daily_at = "02:30"
attributes = { slot = 1, ${'n'.repeat(201)} = 2 }
[e]
blueprint = "x"
interval_seconds = 0
overlap = "skp"
security = { client_id = "acme" }
catch_up = "skip"
catch_up_limit = 3
[f]
blueprint = "x"
weekly_days = ["mon"]
in_blackout = "skip"
[g]
blueprint = "x"
daily_at = 02:30:00
anchor = 2026-01-01
[h]
blueprint = "x"
every = "5m"
anchor = 2026-01-01T00:00:00
paused = "yes"
["no name"]
blueprint = "x"
every = "5m"
[blackouts.night]
from = "22:00"
to = "22:00"
[blackouts.x]
form = "22:00"
to = "25:00"
zone = "here"
`);
  assert.deepEqual(problems, [
    '[blackouts.night] to: is the same as from; a whole day is from "00:00" to "24:00"',
    '[blackouts.x] form: is unknown here; did you mean from?',
    '[blackouts.x] from: is missing',
    '[blackouts.x] zone: must be a zone like UTC or America/Bogota, not "here"',
    'loose: must be a table ([loose]), not a number',
    '[a] blueprnt: is unknown here; did you mean blueprint?',
    '[a] daily_at: must be a time from 00:00 to 23:59 like 02:30, not "2:30"',
    '[a] blueprint: is missing',
    '[b] zone: must be a zone like UTC or America/Bogota, not "Mars/Olympus"',
    '[b] cron: "0 0 30 2 *" never comes: there is no such date',
    '[c] monthly_dates: must hold days from 1 to 31, or "last", not 0',
    '[c] blueprint: must not be empty',
    '[c] jitter: must be a duration like "10s", not a number',
    '[c] blackouts: names "nigth", and there is no [blackouts.nigth]',
    '[d]: exactly one of every, interval_seconds, daily_at, weekly_days, monthly_dates, cron says when; there are every and daily_at',
    '[d] attributes: must not hold slot: the scheduler sets it',
    `[d] attributes: has an attribute whose name is longer than 200 characters: ${'n'.repeat(50)}…`,
    '[e] security: is not obeyed by this version; name the client of the jobs as client',
    '[e] interval_seconds: must be from 1 to 315360000, not 0',
    '[e] catch_up_limit: means nothing beside catch_up = "skip"',
    '[e] overlap: must be one of allow, skip, queue, cancel_previous, not "skp"',
    '[f] time: is missing',
    '[f] in_blackout: means nothing without blackouts',
    '[g] anchor: belongs to every or interval_seconds, not to daily_at',
    '[g] daily_at: must be a string like "02:30", with its quotation marks',
    '[h] anchor: must be an instant with an offset like 2026-01-05T06:00:00Z',
    '[h] paused: must be true or false, not a string',
    '[no name]: the name must be 1 to 100 letters, digits, "_", "-" or "."',
  ]);
});

test('B-044: what would never start, though its rule comes round, is refused', () => {
  const problems = problemsOf(`
[a]
blueprint = "x"
cron = "30 3 29 2 *"
blackouts = ["night"]
[b]
blueprint = "x"
every = "1s"
blackouts = ["night", "day"]
in_blackout = "postpone"
[blackouts.night]
from = "22:00"
to = "06:00"
[blackouts.day]
from = "06:00"
to = "22:00"
`);
  assert.deepEqual(problems, [
    '[a] blackouts: they leave no slot that ever starts',
    '[b] blackouts: they leave no slot that ever starts',
  ]);
});

test('a rule on one line has the fields of the file, and its problems name it', () => {
  const schedule = readRuleText('daily_at = "02:30", jitter = "5m"', 'Europe/Berlin', {});
  assert.partialDeepStrictEqual(schedule, {
    rule: { dailyAt: '02:30' },
    zone: 'Europe/Berlin',
    jitterMs: 300_000,
  });
  const refused = (text: string): RegExp | string => {
    try {
      readRuleText(text, 'UTC', {});
      return 'taken';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  assert.match(String(refused('daily_at = 2')), /^--rule: \[rule\] daily_at: must be a list/);
  assert.match(String(refused('daily at 2')), /^--rule: must be fields/);
  assert.match(String(refused('blackouts = ["x"], every = "1h"')), /no \[blackouts\.x\]/);
});
