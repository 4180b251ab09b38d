import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { StartedProgram } from '../../packages/capataz/src/cli/fixtures/started-program.ts';

const program = fileURLToPath(
  new URL('../../apps/rpa-launcher/bin/capataz-rpa.mjs', import.meta.url),
);

export interface SeenJob {
  readonly state: string;
  readonly ended_at: string | null;
}

/** Where a launcher's settings lie, and its data. */
export interface LauncherPlace {
  readonly folder: string;
  /** Default `data`. */
  readonly data?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const dataOf = ({ folder, data = 'data' }: LauncherPlace): string => join(folder, data);

/** A launcher as a process of its own, with a clock that goes on and can be moved. */
export class RpaLauncher implements AsyncDisposable {
  readonly #program: StartedProgram;
  #url = '';
  /** Where it takes callbacks, once it does. */
  callbackAddress: string | null = null;
  #deployCycles = 0;
  #onDeployCycle: () => void = () => {};

  private constructor(place: LauncherPlace) {
    const args = ['serve', '--port', '0', '--data-dir', dataOf(place)];
    this.#program = new StartedProgram(program, args, place.folder, {
      CAPATAZ_TEST_CLOCK: '1',
      ...place.environment,
    });
    const { stderr } = this.#program.child;
    if (stderr !== null) createInterface({ input: stderr }).on('line', (line) => this.#read(line));
  }

  static async start(place: LauncherPlace): Promise<RpaLauncher> {
    const launcher = new RpaLauncher(place);
    launcher.#url = await launcher.#program.says(/listening on (http:\S+)/);
    return launcher;
  }

  /** @returns what a command wrote @throws Error with what it said where it ended badly */
  static async typed(place: LauncherPlace, words: readonly string[]): Promise<string> {
    const args = [...words, '--data-dir', dataOf(place)];
    const command = new StartedProgram(program, args, place.folder);
    const code = await command.ended();
    if (code !== 0) throw new Error(`${words.join(' ')}: ${code}: ${command.stderr}`);
    return command.stdout;
  }

  get pid(): number {
    return this.#program.child.pid ?? 0;
  }

  get stderr(): string {
    return this.#program.stderr;
  }

  get deployCycles(): number {
    return this.#deployCycles;
  }

  /** Resolves when the deploy cycle that is next to end has ended, and the one after it is planned. */
  deployCycleEnded(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDeployCycle = resolve;
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#program.child.kill(name);
  }

  /** @returns the exit code */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    return this.#program.stop(signal);
  }

  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#program.child;
    if (exitCode === null && signalCode === null) await this.stop('SIGKILL');
  }

  /** The Control Room's clock does not move along. */
  async advance(ms: number): Promise<void> {
    const response = await fetch(`${this.#url}/_test/clock`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advance_ms: ms }),
    });
    assert.equal(response.status, 200);
    await response.text();
  }

  async jobs(): Promise<SeenJob[]> {
    const response = await fetch(`${this.#url}/api/v1/jobs?blueprint=ejecucion&limit=1000`);
    // The server's own answer, as its API documents it.
    return ((await response.json()) as { jobs: SeenJob[] }).jobs;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  #read(line: string): void {
    this.callbackAddress ??= /callbacks are taken \(at=(\S+?)\)/.exec(line)?.[1] ?? null;
    if (!line.includes('Fin de ciclo desplegador')) return;
    this.#deployCycles += 1;
    this.#onDeployCycle();
  }
}
