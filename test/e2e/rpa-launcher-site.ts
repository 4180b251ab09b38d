import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FakeControlRoom } from '../../apps/rpa-launcher/src/fake-control-room/fake-control-room.ts';
import {
  type FakeServer,
  serveFake,
} from '../../apps/rpa-launcher/src/fake-control-room/http-server.ts';
import { worldOf } from '../../apps/rpa-launcher/src/fake-control-room/world.ts';
import { addDevice, addRobot, addSchedule } from '../../apps/rpa-launcher/src/simulation/tables.ts';
import { openDatabase } from '../../apps/rpa-launcher/src/tables/database.ts';
import { StartedProgram } from '../../packages/capataz/src/cli/fixtures/started-program.ts';
import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';
import { systemRandom } from '../../packages/capataz/src/std/random.ts';
import { until } from '../../packages/capataz/src/testing/until.ts';

const program = fileURLToPath(
  new URL('../../apps/rpa-launcher/bin/capataz-rpa.mjs', import.meta.url),
);

interface SeenJob {
  readonly state: string;
  readonly ended_at: string | null;
}

/** A launcher as a process of its own, and a Control Room that answers it over HTTP. */
export class RpaSite implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'capataz-rpa-site-'));
  readonly fake: FakeControlRoom;
  readonly #server: FakeServer;
  #launcher: StartedProgram | null = null;
  #url = '';

  private constructor(fake: FakeControlRoom, server: FakeServer) {
    this.fake = fake;
    this.#server = server;
  }

  static async open(
    robots: number,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<RpaSite> {
    const fake = new FakeControlRoom(
      { ...worldOf({ devices: robots, robots, script: { pendingMs: 0, durationMs: 1_000 } }) },
      { clock: systemClock, newId: () => systemRandom.id(), random: () => 0.5 },
    );
    const site = new RpaSite(fake, await serveFake(fake, { clock: systemClock }));
    const values = {
      AA_CR_URL: site.#server.url,
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
      ...variables,
    };
    const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(join(site.folder, '.env'), lines.join(''));
    return site;
  }

  /** A robot each on a device of its own, due from a minute ago for most of a day. */
  async schedule(robots: number): Promise<void> {
    const { db, close } = await openDatabase(join(this.folder, 'data', 'rpa.sqlite'));
    const HoraInicio = new Date(systemClock.now() - 60_000).toISOString().slice(11, 16);
    for (let n = 1; n <= robots; n += 1) {
      await addRobot(db, { RobotId: 9_000 + n, Robot: `P${n}_Robot` });
      await addDevice(db, n);
      await addSchedule(db, { RobotId: 9_000 + n, HoraInicio, Tolerancia: 1_200 }, [100 + n]);
    }
    await close();
  }

  async start(): Promise<void> {
    const args = ['serve', '--port', '0', '--data-dir', join(this.folder, 'data')];
    this.#launcher = new StartedProgram(program, args, this.folder, { CAPATAZ_TEST_CLOCK: '1' });
    this.#url = await this.#launcher.says(/listening on (http:\S+)/);
  }

  async kill(): Promise<void> {
    await this.#launcher?.stop('SIGKILL');
    this.#launcher = null;
  }

  /** @returns what a command wrote @throws Error with what it said where it ended badly */
  async typed(words: readonly string[]): Promise<string> {
    const args = [...words, '--data-dir', join(this.folder, 'data')];
    const command = new StartedProgram(program, args, this.folder);
    const code = await command.ended();
    if (code !== 0) throw new Error(`${words.join(' ')}: ${code}: ${command.stderr}`);
    return command.stdout;
  }

  signal(name: NodeJS.Signals): void {
    this.#launcher?.child.kill(name);
  }

  /** @returns the exit code */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    const code = await this.#launcher?.stop(signal);
    this.#launcher = null;
    return code ?? -1;
  }

  get stderr(): string {
    return this.#launcher?.stderr ?? '';
  }

  /** Moves the launcher's clock; the Control Room's goes on as it does. */
  async advance(ms: number): Promise<void> {
    const response = await fetch(`${this.#url}/_test/clock`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advance_ms: ms }),
    });
    assert.equal(response.status, 200);
  }

  async jobs(): Promise<SeenJob[]> {
    const response = await fetch(`${this.#url}/api/v1/jobs?blueprint=ejecucion&limit=1000`);
    // The server's own answer, as its API documents it.
    return ((await response.json()) as { jobs: SeenJob[] }).jobs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.fake.close();
    await this.#server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The longest that a launcher lives in a round: it then is between starts, calls and records of calls. */
const longestLifeMs = 900;
const robotsARound = 4;

/**
 * Kills the launcher at random moments around deploy calls and their records. Afterwards, whatever was in
 * the air, each slot has run exactly once: no robot twice, none forgotten.
 */
export async function killAround(rounds: number): Promise<{ readonly unconfirmed: number }> {
  const robots = Math.max(20, rounds * robotsARound);
  await using site = await RpaSite.open(robots, { LANZADOR_MAX_WORKERS: '2' });
  site.fake.faults.add({ endpoint: 'deploy', delayMs: 40, answerDelayMs: 40 });
  await site.schedule(robots);
  for (let round = 0; round < rounds; round += 1) {
    await site.start();
    await delay(systemClock, longestLifeMs * systemRandom.next());
    await site.kill();
  }
  await site.start();
  // Intents whose launcher died, then three look-ups where nothing was deployed, then the deployments.
  await site.advance(45_000);
  await until(async () => (await site.jobs()).every(({ state }) => state !== 'DESPLEGANDO'));
  const unconfirmed = (await site.jobs()).filter(({ state }) => state === 'SIN_CONFIRMAR').length;
  const isOver = async (): Promise<boolean> => {
    const jobs = await site.jobs();
    return jobs.length === robots && jobs.every(({ ended_at }) => ended_at !== null);
  };
  for (let step = 0; step < 60 && !(await isOver()); step += 1) {
    await site.advance(95_000);
    const cycles = site.fake.calls.count('activity') + 1;
    await Promise.race([
      until(() => site.fake.calls.count('activity') > cycles),
      delay(systemClock, 2_500),
    ]);
  }
  const jobs = await site.jobs();
  assert.equal(jobs.length, robots);
  assert.deepEqual([...new Set(jobs.map(({ state }) => state))], ['COMPLETED']);
  const runs = Map.groupBy(site.fake.runs, ({ robotId }) => robotId);
  const counts = [...runs.values()].map((list) => list.length);
  assert.deepEqual([counts.length, Math.max(...counts)], [robots, 1]);
  return { unconfirmed };
}
