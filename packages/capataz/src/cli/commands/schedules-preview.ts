import { Command } from 'commander';
import type { EffectiveConfig } from '../../config/load.ts';
import { readRuleText, readSchedules, type Schedules } from '../../config/schedules-file.ts';
import type { PlannedSlot } from '../../schedule/plan.ts';
import { planOf, type Schedule } from '../../schedule/schedule.ts';
import { isZone, type Zone, zoneOf } from '../../schedule/zone.ts';
import { formatDuration } from '../../std/duration.ts';
import { sessionOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../exit.ts';
import { wholeNumber } from '../flag-values.ts';
import { addSettings } from '../options.ts';
import { clockTime, instantIn, localTime } from '../wall-text.ts';
import { scheduleSettings } from './schedules-check.ts';

interface PreviewFlags {
  readonly rule?: string;
  readonly from?: string;
  readonly count?: string;
  readonly zone?: string;
}

/** A slot with what a reader may wonder about. */
interface Preview extends PlannedSlot {
  readonly changes: readonly { readonly at: number; readonly from: number; readonly to: number }[];
}

const maxCount = 1_000;

export function schedulesPreviewCommand(context: CliContext): Command {
  const command = new Command('preview')
    .description(
      'Show the next slots of a schedule, or of a rule, with changes of the clocks, blackouts and jitter.',
    )
    .argument('[name]')
    .option('--rule <fields>', 'A rule instead of a name, as in the file: \'daily_at = "02:30"\'.')
    .option('--from <instant>', 'Slots from this on; without an offset in the zone. Default: now.')
    .option('--count <integer>', 'How many, at most 1000. Default: 10.')
    .option('--zone <zone>', 'Zone of --rule; of a named schedule, the zone of the local times.')
    .option('--json', 'Write JSON.');
  addSettings(command, scheduleSettings);
  return command.action((name: string | undefined, flags: PreviewFlags) => {
    const { config, print, asJson } = sessionOf(command, context, scheduleSettings);
    if (flags.zone !== undefined && !isZone(flags.zone)) {
      throw new UsageError(`--zone must be a zone like America/Bogota, not "${flags.zone}"`);
    }
    const now = context.clock.now();
    const { schedule, blackouts } = chosen(name, flags, config, now);
    const zone = zoneOf(flags.zone ?? schedule.zone);
    const count = flags.count === undefined ? 10 : wholeNumber('--count', flags.count);
    if (count < 1 || count > maxCount)
      throw new UsageError(`--count must be from 1 to ${maxCount}`);
    const from = flags.from === undefined ? now : instantIn(zone, '--from', flags.from);
    const plan = planOf(schedule, blackouts);
    const previews: Preview[] = [];
    let before = from - 1;
    for (const planned of plan.between(before, Number.MAX_SAFE_INTEGER)) {
      previews.push({ ...planned, changes: changesOf(zone, before, planned.slot) });
      before = planned.slot;
      if (previews.length === count) break;
    }
    if (asJson) return print.json(documentOf(schedule, zone, previews));
    const header = ['SLOT', 'UTC', 'STARTS', ''];
    print.line(`${schedule.name}  ${zone.name}${schedule.isPaused ? '  paused' : ''}`);
    print.table(
      header,
      previews.map((preview) => rowOf(preview, zone)),
    );
  });
}

interface Chosen extends Pick<Schedules, 'blackouts'> {
  readonly schedule: Schedule;
}

/** @throws UsageError, CapatazError CONFIG_INVALID */
function chosen(
  name: string | undefined,
  { rule, zone }: PreviewFlags,
  { values }: EffectiveConfig,
  now: number,
): Chosen {
  const { schedules: file, timeZone } = values;
  if ((name === undefined) === (rule === undefined)) {
    throw new UsageError('name a schedule, or give a rule with --rule');
  }
  const none: Schedules = { schedules: [], blackouts: {} };
  const { schedules, blackouts } =
    file === null ? none : readSchedules(file, { zone: timeZone, now });
  if (rule !== undefined) {
    return { schedule: readRuleText(rule, zone ?? timeZone, blackouts), blackouts };
  }
  const schedule = schedules.find((one) => one.name === name);
  if (schedule !== undefined) return { schedule, blackouts };
  const names = schedules.map((one) => one.name).join(', ');
  throw new UsageError(
    `there is no schedule "${name}"${names === '' ? '' : `; there are ${names}`}`,
  );
}

function changesOf(zone: Zone, after: number, until: number): Preview['changes'] {
  return [...zone.changes(after, until)].map(({ start, before, offset }) => ({
    at: start,
    from: start + before,
    to: start + offset,
  }));
}

function rowOf(preview: Preview, zone: Zone): string[] {
  const { slot, startsAt, blackout } = preview;
  const notes = preview.changes.map(
    ({ at, from, to }) =>
      `clocks ${clockTime(from)} → ${clockTime(to)} on ${localTime(zone, at, 'date')}`,
  );
  if (zone.instantOf(slot + zone.offsetAt(slot)) !== slot) notes.push('second time by the clock');
  if (blackout !== null) {
    notes.push(
      startsAt === null ? `left out: blackout ${blackout}` : `behind blackout ${blackout}`,
    );
  }
  return [localTime(zone, slot), utcTime(slot), startText(preview), notes.join('; ')];
}

/** Empty where it starts at its slot. */
function startText({ slot, startsAt }: PlannedSlot): string {
  if (startsAt === null) return 'never';
  return startsAt === slot ? '' : `+${formatDuration(startsAt - slot)}`;
}

function utcTime(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}

function documentOf(schedule: Schedule, zone: Zone, previews: readonly Preview[]): object {
  return {
    schedule: schedule.name,
    zone: zone.name,
    paused: schedule.isPaused,
    slots: previews.map(({ slot, startsAt, blackout, changes }) => ({
      slot: utcTime(slot),
      local: localTime(zone, slot),
      starts_at: startsAt === null ? null : new Date(startsAt).toISOString(),
      blackout,
      clock_changes: changes.map(({ at, from, to }) => ({
        at: utcTime(at),
        from: clockTime(from),
        to: clockTime(to),
      })),
    })),
  };
}
