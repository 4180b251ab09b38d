import { readSchedules, type Schedules } from '../config/schedules-file.ts';
import type { Config } from '../config/settings.ts';
import type { Blueprint } from '../core/blueprint.ts';
import type { JobsPort } from '../engine/ports.ts';
import { CapatazError } from '../protocol/errors.ts';
import { planOf } from '../schedule/schedule.ts';
import type { AccessEntries } from '../server/access.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { SlotRunner } from './slot-runner.ts';

/** The schedules of the configured file; none where there is no file. @throws CONFIG_INVALID */
export function configuredSchedules({ schedules, timeZone: zone }: Config, now: number): Schedules {
  return schedules === null
    ? { schedules: [], blackouts: {} }
    : readSchedules(schedules, { zone, now });
}

/**
 * What a schedule names must be there when the server starts, and not only at its slot.
 * @throws CapatazError CONFIG_INVALID
 */
export function checkSchedules(
  { schedules }: Schedules,
  file: string | null,
  {
    blueprints,
    entries,
  }: {
    readonly blueprints: readonly Blueprint[];
    readonly entries: Pick<AccessEntries, 'clients'>;
  },
): void {
  const problems = schedules.flatMap(({ name, start }) => {
    const { blueprint, version, client } = start;
    const place = `${file}: [${name}]`;
    const isThere = blueprints.some(
      (one) => one.name === blueprint && (version === undefined || one.version === version),
    );
    const which = version === undefined ? '' : ` of version ${version}`;
    const isKnown =
      client === undefined || (entries.clients ?? []).some((entry) => entry.name === client);
    return [
      ...(isThere ? [] : [`${place} blueprint: there is no blueprint "${blueprint}"${which}`]),
      ...(isKnown ? [] : [`${place} client: there is no client "${client}"`]),
    ];
  });
  if (problems.length > 0) throw new CapatazError('CONFIG_INVALID', problems.join('\n'));
}

export interface RunnerParts {
  /** Of schedules that name none. */
  readonly client: string;
  readonly jobs: JobsPort;
  readonly clock: Clock;
  readonly log: Log;
}

export function slotRunners(
  { schedules, blackouts }: Schedules,
  { client, ...parts }: RunnerParts,
): SlotRunner[] {
  return schedules
    .filter(({ isPaused }) => !isPaused)
    .map((schedule) => {
      const plan = planOf(schedule, blackouts);
      return new SlotRunner({ ...parts, schedule, plan, client: schedule.start.client ?? client });
    });
}
