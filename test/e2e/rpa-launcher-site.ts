import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeControlRoom } from '../../apps/rpa-launcher/src/fake-control-room/fake-control-room.ts';
import {
  type FakeServer,
  serveFake,
} from '../../apps/rpa-launcher/src/fake-control-room/http-server.ts';
import type { FakeCallback } from '../../apps/rpa-launcher/src/fake-control-room/runs.ts';
import { type RobotScript, worldOf } from '../../apps/rpa-launcher/src/fake-control-room/world.ts';
import { addDevice, addRobot, addSchedule } from '../../apps/rpa-launcher/src/simulation/tables.ts';
import { type Db, openDatabase } from '../../apps/rpa-launcher/src/tables/database.ts';
import { type Clock, systemClock } from '../../packages/capataz/src/std/clock.ts';
import { systemRandom } from '../../packages/capataz/src/std/random.ts';
import { type LauncherPlace, RpaLauncher } from './rpa-launcher-process.ts';

export interface SiteOptions {
  readonly robots: number;
  /** Default: one for each robot. */
  readonly devices?: number;
  readonly script?: RobotScript;
  /** Of the launchers' `.env`. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Of the Control Room. */
  readonly clock?: Clock;
  /** Where the tables lie. Default: in a file. */
  readonly databaseUrl?: string;
}

const usualVariables = {
  AA_CR_USER: 'lanzador',
  AA_CR_API_KEY: 'fake-api-key',
  AA_API_TIMEOUT_SECONDS: '10',
  AA_MAX_PETICIONES_SEG: '1000',
  LANZADOR_INTERVALO_LANZAMIENTO_SEG: '1',
  LANZADOR_INTERVALO_CONCILIACION_SEG: '2',
  LANZADOR_HABILITAR_SYNC: 'False',
  LANZADOR_ZONA_HORARIA: 'UTC',
  LANZADOR_PAUSA_INICIO_HHMM: '',
  LANZADOR_PAUSA_FIN_HHMM: '',
};

/** Launchers as processes of their own, and a Control Room that answers them over HTTP. */
export class RpaSite implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'capataz-rpa-site-'));
  readonly fake: FakeControlRoom;
  readonly #server: FakeServer;
  readonly #databaseUrl: string;
  readonly #launchers: RpaLauncher[] = [];

  private constructor(parts: { fake: FakeControlRoom; server: FakeServer; databaseUrl?: string }) {
    this.fake = parts.fake;
    this.#server = parts.server;
    this.#databaseUrl = parts.databaseUrl ?? join(this.folder, 'data', 'rpa.sqlite');
  }

  static async open({
    robots,
    devices = robots,
    script = { pendingMs: 0, durationMs: 1_000 },
    variables = {},
    clock = systemClock,
    ...where
  }: SiteOptions): Promise<RpaSite> {
    const fake = new FakeControlRoom(worldOf({ devices, robots, script }), {
      clock,
      newId: () => systemRandom.id(),
      random: () => 0.5,
      sendCallback: (callback, body) => site.#sendCallback(callback, body),
    });
    const server = await serveFake(fake, { clock });
    const site = new RpaSite({ fake, server, ...where });
    const values = { AA_CR_URL: server.url, ...usualVariables, ...variables };
    const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(site.folder, '.env'), lines.join(''));
    return site;
  }

  /** Fills the tables, before a launcher runs. */
  async prepare(fill: (db: Db) => Promise<void>): Promise<void> {
    const { db, close } = await openDatabase(this.#databaseUrl);
    await fill(db);
    await close();
  }

  /** A robot each on a device of its own, due from a minute ago for most of a day. */
  schedule(robots: number): Promise<void> {
    const HoraInicio = new Date(systemClock.now() - 60_000).toISOString().slice(11, 16);
    return this.prepare(async (db) => {
      for (let n = 1; n <= robots; n += 1) {
        await addRobot(db, { RobotId: 9_000 + n, Robot: `P${n}_Robot` });
        await addDevice(db, n);
        await addSchedule(db, { RobotId: 9_000 + n, HoraInicio, Tolerancia: 1_200 }, [100 + n]);
      }
    });
  }

  async start(place: Omit<LauncherPlace, 'folder'> = {}): Promise<RpaLauncher> {
    const launcher = await RpaLauncher.start({ folder: this.folder, ...place });
    this.#launchers.push(launcher);
    return launcher;
  }

  typed(words: readonly string[]): Promise<string> {
    return RpaLauncher.typed({ folder: this.folder }, words);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const launcher of this.#launchers) await launcher.kill();
    this.fake.close();
    await this.#server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** To the launcher that was started last: which port it takes them on nobody knows before. */
  async #sendCallback({ headers }: FakeCallback, body: string): Promise<number> {
    const address = this.#launchers.at(-1)?.callbackAddress ?? null;
    if (address === null) return 0;
    try {
      const response = await fetch(`${address}/api/callback`, { method: 'POST', headers, body });
      await response.text();
      return response.status;
    } catch {
      return 0;
    }
  }
}
