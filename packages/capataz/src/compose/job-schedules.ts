import { readSchedules, type Schedules } from '../config/schedules-file.ts';
import type { Config } from '../config/settings.ts';
import type { Blueprint } from '../core/blueprint.ts';
import type { JobsPort } from '../engine/ports.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { ScheduleView } from '../protocol/schedules-api.ts';
import type { Plan } from '../schedule/plan.ts';
import { planOf, type Schedule } from '../schedule/schedule.ts';
import type { AccessEntries } from '../server/access.ts';
import type { SchedulesPort } from '../server/context.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { StoredSchedule } from '../store/contract.ts';
import type { ScheduleStore } from './schedule-row.ts';
import { ScheduleTime } from './schedule-time.ts';
import { scheduleView } from './schedule-view.ts';
import { type SlotMeter, SlotRunner } from './slot-runner.ts';

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
  if (problems.length > 0) {
    throw new CapatazError('CONFIG_INVALID', problems.join('\n'), { schedules: file });
  }
}

export interface JobSchedulesParts {
  /** The file's name, as people know it; null: there is none. */
  readonly file: string | null;
  /** Of schedules that name none. */
  readonly client: string;
  readonly jobs: JobsPort;
  readonly store: ScheduleStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: SlotMeter;
}

interface Entry {
  readonly schedule: Schedule;
  readonly plan: Plan;
  readonly client: string;
  readonly runner: SlotRunner;
}

/** The schedules of a server's file: their runners, and what clients may see and do. */
export class JobSchedules implements SchedulesPort {
  readonly #entries: readonly Entry[];
  readonly #parts: JobSchedulesParts;
  readonly #time: ScheduleTime;

  constructor({ schedules, blackouts }: Schedules, parts: JobSchedulesParts) {
    this.#parts = parts;
    this.#time = new ScheduleTime(parts);
    this.#entries = schedules.map((schedule) => {
      const plan = planOf(schedule, blackouts);
      const client = schedule.start.client ?? parts.client;
      return {
        ...{ schedule, plan, client },
        runner: new SlotRunner({ ...parts, schedule, plan, client }),
      };
    });
  }

  start(): void {
    for (const { runner } of this.#entries) runner.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#entries.map(({ runner }) => runner.stop()));
  }

  async list(client: string): Promise<ScheduleView[]> {
    const own = this.#entries.filter((entry) => entry.client === client);
    const stored = await this.#parts.store.schedules(own.map(({ schedule }) => schedule.name));
    const byName = new Map(stored.map((one) => [one.name, one]));
    const now = await this.#time.now();
    return own.map((entry) => this.#view(entry, byName.get(entry.schedule.name) ?? null, now));
  }

  async pause(name: string, client: string): Promise<ScheduleView> {
    const entry = this.#own(name, client);
    return this.#view(entry, await entry.runner.pause(client), await this.#time.now());
  }

  async resume(name: string, client: string): Promise<ScheduleView> {
    const entry = this.#own(name, client);
    return this.#view(entry, await entry.runner.resume(client), await this.#time.now());
  }

  #view({ schedule, plan }: Entry, stored: StoredSchedule | null, now: number): ScheduleView {
    return scheduleView({ schedule, plan, stored, now, file: this.#parts.file });
  }

  /** @throws SCHEDULE_NOT_FOUND, also for another client's: foreign and unknown look the same. */
  #own(name: string, client: string): Entry {
    const entry = this.#entries.find((one) => one.schedule.name === name && one.client === client);
    if (entry !== undefined) return entry;
    throw new CapatazError('SCHEDULE_NOT_FOUND', `there is no schedule "${name}"`);
  }
}
