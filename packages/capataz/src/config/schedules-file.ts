import { parse, TomlError } from 'smol-toml';
import { attributesProblem } from '../core/new-job.ts';
import { blackout } from '../schedule/blackout.ts';
import { type CatchUp, catchUpPolicies } from '../schedule/catch-up.ts';
import { overlapPolicies } from '../schedule/overlap.ts';
import { RuleError } from '../schedule/rule-error.ts';
import { type Blackouts, type JobStart, planOf, type Schedule } from '../schedule/schedule.ts';
import { slots } from '../schedule/slots.ts';
import type { Weekday } from '../schedule/wall-time.ts';
import { isZone } from '../schedule/zone.ts';
import { durationMs } from '../std/duration.ts';
import { Problems } from './problems.ts';
import { readRule, ruleKeys } from './schedule-rule.ts';
import { fileKey } from './setting.ts';
import { isTable, readToml, type TomlTable } from './toml.ts';
import { type EntrySource, TomlEntry, tablesIn } from './toml-entry.ts';

export interface Schedules {
  readonly schedules: readonly Schedule[];
  readonly blackouts: Blackouts;
}

const scheduleKeys = [
  'blueprint',
  'version',
  'client',
  'input',
  'input_data',
  'attributes',
  'priority',
  'dispatch_timeout',
  'result_timeout',
  ...ruleKeys,
  'zone',
  'jitter',
  'catch_up',
  'catch_up_limit',
  'tolerance',
  'overlap',
  'blackouts',
  'in_blackout',
  'paused',
] as const;

/** Keys that the orchestrator seed's file has. */
const unsupported: Readonly<Record<string, string>> = {
  security: 'is not obeyed by this version; name the client of the jobs as client',
  metadata: 'is unknown here; what is to be found again goes into attributes',
};

/** Set by the scheduler itself, so that its jobs are found again. */
const ownAttributes = ['schedule', 'slot'];

const defaults: CatchUp = { policy: 'last', limit: 100, toleranceMs: durationMs('1m') };

/**
 * `[name]` for each schedule, `[blackouts.name]` for each blackout.
 * @param zone of entries that name none
 * @throws CapatazError CONFIG_INVALID that lists every problem with file, entry and field.
 */
export function readSchedules(
  file: string,
  { zone, now }: { readonly zone: string; readonly now: number },
): Schedules {
  const problems = new Problems();
  const { blackouts, ...rest } = readToml(file, problems) ?? {};
  const found = schedulesOf(rest, blackouts, { file, zone, problems });
  problems.throwIfAny({ schedules: file });
  for (const schedule of found.schedules) {
    if (planOf(schedule, found.blackouts).nextStart(now) !== null) continue;
    const [field, reason] =
      schedule.blackouts.length === 0
        ? ['', 'no slot of it']
        : [' blackouts', 'they leave no slot that'];
    problems.add(`${file}: [${schedule.name}]${field}`, `${reason} ever starts`);
  }
  problems.throwIfAny({ schedules: file });
  return found;
}

/**
 * A schedule of fields as they stand in the file, on one line: `daily_at = "02:30", jitter = "5m"`.
 * @throws CapatazError CONFIG_INVALID
 */
export function readRuleText(text: string, zone: string, blackouts: Blackouts): Schedule {
  const problems = new Problems();
  const table = inlineTable(text, problems);
  const source = { file: '--rule', name: 'rule', table, problems };
  const schedule = scheduleOf({ ...source, table: { blueprint: 'none', ...table } }, zone);
  checkBlackouts(source, schedule, blackouts);
  problems.throwIfAny();
  return schedule;
}

function inlineTable(text: string, problems: Problems): TomlTable {
  try {
    const { rule } = parse(`rule = { ${text} }`);
    return isTable(rule) ? rule : {};
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    problems.add('--rule', 'must be fields as in schedules.toml, like daily_at = "02:30"');
    return {};
  }
}

interface Reading {
  readonly file: string;
  readonly zone: string;
  readonly problems: Problems;
}

function schedulesOf(entries: TomlTable, blackouts: unknown, reading: Reading): Schedules {
  const { file, zone, problems } = reading;
  const definitions = blackoutsOf(blackouts, reading);
  const sources = tablesIn(entries, { file, prefix: '', problems });
  const schedules = sources.map((source) => {
    const schedule = scheduleOf(source, zone);
    checkBlackouts(source, schedule, definitions);
    return schedule;
  });
  return { schedules, blackouts: definitions };
}

function blackoutsOf(table: unknown, { file, zone, problems }: Reading): Blackouts {
  const found: Record<string, Blackouts[string]> = {};
  if (table === undefined) return found;
  if (!isTable(table)) {
    problems.add(`${file}: blackouts`, 'must hold tables, as [blackouts.night]');
    return found;
  }
  for (const source of tablesIn(table, { file, prefix: 'blackouts.', problems })) {
    const entry = new TomlEntry(source);
    entry.checkKeys(['from', 'to', 'days', 'zone']);
    const days = entry.strings('days');
    const definition = {
      from: required(entry, 'from'),
      to: required(entry, 'to'),
      // What is no day is found when the blackout is made.
      ...(days === undefined ? {} : { days: days as readonly Weekday[] }),
      zone: zoneIn(entry, zone),
    };
    if (entry.has('from') && entry.has('to')) tryOut(entry, () => blackout('', definition));
    found[source.name.slice('blackouts.'.length)] = definition;
  }
  return found;
}

function scheduleOf(source: EntrySource, defaultZone: string): Schedule {
  const entry = new TomlEntry(source);
  entry.checkKeys(scheduleKeys, unsupported);
  if (!/^[A-Za-z0-9_.-]{1,100}$/.test(entry.name)) {
    entry.problem(null, 'the name must be 1 to 100 letters, digits, "_", "-" or "."');
  }
  const zone = zoneIn(entry, defaultZone);
  const rule = readRule(entry);
  if (rule !== null) tryOut(entry, () => slots(rule, zone));
  return {
    name: entry.name,
    start: jobStartOf(entry),
    // Where there is none, the problem is noted and the schedule goes nowhere.
    rule: rule ?? { every: '1d' },
    zone,
    jitterMs: entry.duration('jitter') ?? 0,
    catchUp: catchUpOf(entry),
    overlap: entry.choice('overlap', overlapPolicies) ?? 'allow',
    blackouts: entry.strings('blackouts') ?? [],
    inBlackout: entry.choice('in_blackout', ['skip', 'postpone']) ?? 'skip',
    isPaused: entry.boolean('paused') ?? false,
  };
}

function jobStartOf(entry: TomlEntry): JobStart {
  if (entry.has('input') && entry.has('input_data')) {
    entry.problem('input_data', 'stands beside input, which means the same; keep one of them');
  }
  const attributes = entry.object('attributes') ?? {};
  for (const own of ownAttributes) {
    if (own in attributes)
      entry.problem('attributes', `must not hold ${own}: the scheduler sets it`);
  }
  const problem = attributesProblem(attributes);
  if (problem !== null) entry.problem('attributes', `has ${problem}`);
  return {
    blueprint: required(entry, 'blueprint'),
    input: entry.object('input') ?? entry.object('input_data') ?? {},
    attributes,
    ...given('version', entry.integer('version', [1, 1_000_000_000])),
    ...given('client', entry.string('client')),
    ...given('priority', entry.integer('priority', [-1_000, 1_000])),
    ...given('dispatchTimeoutMs', entry.duration('dispatch_timeout')),
    ...given('resultTimeoutMs', entry.duration('result_timeout')),
  };
}

function catchUpOf(entry: TomlEntry): CatchUp {
  const policy = entry.choice('catch_up', catchUpPolicies) ?? defaults.policy;
  if (entry.has('catch_up_limit') && entry.has('catch_up') && policy !== 'all') {
    entry.problem('catch_up_limit', `means nothing beside catch_up = "${policy}"`);
  }
  return {
    policy,
    limit: entry.integer('catch_up_limit', [1, 1_000]) ?? defaults.limit,
    toleranceMs: entry.duration('tolerance') ?? defaults.toleranceMs,
  };
}

function checkBlackouts(source: EntrySource, schedule: Schedule, blackouts: Blackouts): void {
  const entry = new TomlEntry(source);
  for (const name of schedule.blackouts) {
    if (!Object.hasOwn(blackouts, name)) {
      entry.problem('blackouts', `names "${name}", and there is no [blackouts.${name}]`);
    }
  }
  if (entry.has('in_blackout') && !entry.has('blackouts')) {
    entry.problem('in_blackout', 'means nothing without blackouts');
  }
}

/** @returns an empty text, and notes the problem, where there is none. */
function required(entry: TomlEntry, field: string): string {
  const text = entry.string(field);
  if (!entry.has(field)) entry.problem(field, 'is missing');
  else if (text === '') entry.problem(field, 'must not be empty');
  return text ?? '';
}

/** @returns one that exists, whatever stands there. */
function zoneIn(entry: TomlEntry, fallback: string): string {
  const zone = entry.string('zone') ?? fallback;
  if (isZone(zone)) return zone;
  entry.problem('zone', `must be a zone like UTC or America/Bogota, not "${zone}"`);
  return 'UTC';
}

function tryOut(entry: TomlEntry, make: () => unknown): void {
  try {
    make();
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    entry.problem(fileKey(error.field), error.message);
  }
}

function given<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  // The one member that it has is the one that its type allows.
  return value === undefined ? {} : ({ [key]: value } as Record<K, V>);
}
