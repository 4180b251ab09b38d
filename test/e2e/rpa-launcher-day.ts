/** What a launcher of 500 devices costs: memory and processor, over hours that are moved by. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  addDevice,
  addRobot,
  addSchedule,
  assign,
} from '../../apps/rpa-launcher/src/simulation/tables.ts';
import type { Db } from '../../apps/rpa-launcher/src/tables/database.ts';
import { systemClock } from '../../packages/capataz/src/std/clock.ts';
import { MovableClock } from '../../packages/capataz/src/std/movable-clock.ts';
import type { RpaLauncher } from './rpa-launcher-process.ts';
import { RpaSite } from './rpa-launcher-site.ts';

const minute = 60_000;
const deployEveryMs = 15_000;
export const devices = 500;
/** Of the devices, the first so many have a schedule for each hour, the next ones a cyclic one. */
const [scheduled, cyclic] = [250, 150];
const devicesARobot = 10;

export interface Usage {
  /** Resident, as `ps` and `top` show it: what is shared with others and pages of files are in it. */
  readonly rss_mb: number;
  /** The most that it ever was. */
  readonly peak_mb: number;
  /** Of the former, the launcher's own: heaps and caches. */
  readonly own_mb: number;
  readonly cpu_seconds: number;
}

/** Linux counts CPU time in hundredths of a second. */
const ticksPerSecond = 100;

export function usageOf({ pid }: RpaLauncher): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Math.round(Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'))?.[1]) / 1_024);
  // The fields after the command, which is in brackets: 14 and 15 of all are user and system time.
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return {
    rss_mb: megabytes('VmRSS'),
    peak_mb: megabytes('VmHWM'),
    own_mb: megabytes('RssAnon'),
    cpu_seconds: ((user ?? Number.NaN) + (system ?? Number.NaN)) / ticksPerSecond,
  };
}

/** A launcher with its default intervals, and 500 devices on which some 620 robots an hour run, day and night. */
export class LargeSite implements AsyncDisposable {
  readonly launcher: RpaLauncher;
  readonly #site: RpaSite;
  readonly #clock: MovableClock;

  private constructor(parts: { launcher: RpaLauncher; site: RpaSite; clock: MovableClock }) {
    this.launcher = parts.launcher;
    this.#site = parts.site;
    this.#clock = parts.clock;
  }

  /** @param isBusy otherwise nothing is ever due */
  static async open({ isBusy }: { readonly isBusy: boolean }): Promise<LargeSite> {
    const clock = new MovableClock(systemClock);
    const site = await RpaSite.open({
      ...{ devices, robots: devices / devicesARobot, clock },
      script: { durationMs: [30 * minute, 40 * minute] },
      variables: {
        AA_API_TIMEOUT_SECONDS: '120',
        AA_URL_CALLBACK: 'http://launcher.invalid/api/callback',
        CALLBACK_TOKEN: 'static-key-of-callbacks',
        CALLBACK_SERVER_HOST: '127.0.0.1',
        CALLBACK_SERVER_PORT: '0',
        LANZADOR_HABILITAR_SYNC: 'True',
        LANZADOR_INTERVALO_LANZAMIENTO_SEG: '15',
        LANZADOR_INTERVALO_CONCILIACION_SEG: '900',
      },
    });
    await site.prepare((db) => fill(db, isBusy));
    // As the services have it, and not for the first time.
    const environment = { NODE_COMPILE_CACHE: join(site.folder, 'compiled') };
    await (await site.start({ environment, data: 'before' })).stop();
    return new LargeSite({ launcher: await site.start({ environment }), site, clock });
  }

  get runs(): number {
    return this.#site.fake.runs.length;
  }

  /** A deploy cycle after the other: time goes on when one has ended. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= deployEveryMs) {
      const ended = this.launcher.deployCycleEnded();
      this.#clock.advance(deployEveryMs);
      await this.launcher.advance(deployEveryMs);
      await ended;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#site[Symbol.asyncDispose]();
  }
}

/** Robots with ten devices each: with a schedule for each hour, cyclic ones, and online ones. */
async function fill(db: Db, isBusy: boolean): Promise<void> {
  for (let n = 1; n <= devices; n += 1) await addDevice(db, n);
  for (let first = 1; first <= devices; first += devicesARobot) {
    const own = Array.from({ length: devicesARobot }, (_, n) => 100 + first + n);
    const RobotId = 9_001 + (first - 1) / devicesARobot;
    const isOnline = first > scheduled + cyclic;
    await addRobot(db, {
      ...{ RobotId, Robot: `P${RobotId}_Robot`, EsOnline: isOnline ? 1 : 0 },
      Activo: isBusy ? 1 : 0,
    });
    if (isOnline) for (const EquipoId of own) await assign(db, { RobotId, EquipoId });
    else if (first > scheduled)
      await addSchedule(
        db,
        { RobotId, HoraInicio: '00:00', EsCiclico: 1, IntervaloEntreEjecuciones: 25 },
        own,
      );
    else
      for (let hour = 0; hour < 24; hour += 1) {
        const HoraInicio = `${String(hour).padStart(2, '0')}:${String(first % 60).padStart(2, '0')}`;
        await addSchedule(db, { RobotId, HoraInicio, Tolerancia: 30 }, own);
      }
  }
}
