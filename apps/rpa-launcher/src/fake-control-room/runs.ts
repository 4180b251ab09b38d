import type { Clock } from 'capataz/server';
import type { CallbackSwitches, FakeRobot, Ms, RobotScript, RunEnd } from './world.ts';

/** One deployment that was accepted: what really ran. Instants are ms since 1970 UTC. */
export interface FakeRun {
  readonly deploymentId: string;
  readonly automationName: string;
  readonly activityIds: readonly string[];
  readonly robotId: number;
  readonly userId: number;
  readonly deviceId: number;
  readonly input: unknown;
  readonly callback: FakeCallback | null;
  readonly acceptedAt: number;
  readonly visibleAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly status: string;
  readonly isVanished: boolean;
}

export interface FakeCallback {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Changing = { -readonly [K in keyof FakeRun]: FakeRun[K] };

export interface RunsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly robotOf: (id: number) => FakeRobot | undefined;
  readonly isConnected: (deviceId: number) => boolean;
  readonly onEnd: (run: FakeRun) => void;
}

/** Runs by device: one at a time, and the others wait behind it. */
export class Runs {
  readonly #options: RunsOptions;
  readonly #byId = new Map<string, Changing>();
  readonly #byDevice = new Map<number, Changing[]>();
  readonly #timers = new Set<() => void>();

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** In the order in which they were accepted. */
  get all(): readonly FakeRun[] {
    return [...this.#byId.values()];
  }

  get(deploymentId: string): FakeRun | undefined {
    return this.#byId.get(deploymentId);
  }

  ofDevice(deviceId: number): readonly FakeRun[] {
    return this.#byDevice.get(deviceId) ?? [];
  }

  add(run: FakeRun): void {
    const changing: Changing = { ...run };
    this.#byId.set(run.deploymentId, changing);
    const queue = this.#byDevice.get(run.deviceId) ?? [];
    queue.push(changing);
    this.#byDevice.set(run.deviceId, queue);
    this.wake(run.deviceId);
  }

  /** Begins what waits for this device, if it can. */
  wake(deviceId: number): void {
    const open = (this.#byDevice.get(deviceId) ?? []).filter(({ endedAt }) => endedAt === null);
    const waiting = open.filter(({ status }) => status === 'DEPLOYED' || status === 'QUEUED');
    for (const run of waiting) run.status = 'QUEUED';
    const isFree = open.length === waiting.length && this.#options.isConnected(deviceId);
    const [next] = waiting;
    if (isFree && next !== undefined) this.#begin(next);
  }

  end(deploymentId: string, status: RunEnd): void {
    const run = this.#byId.get(deploymentId);
    if (run === undefined || run.endedAt !== null) return;
    run.status = status;
    run.endedAt = this.#options.clock.now();
    this.#options.onEnd(run);
    this.wake(run.deviceId);
  }

  /** Cancels everything that is still to come. */
  close(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #begin(run: Changing): void {
    const script = this.#options.robotOf(run.robotId)?.script ?? {};
    run.status = 'PENDING_EXECUTION';
    this.#after(this.#ms(script.pendingMs ?? 1_000), () => {
      if (run.endedAt === null) this.#run(run, script);
    });
  }

  #run(run: Changing, script: RobotScript): void {
    const running = script.saysUpdate === true ? 'UPDATE' : 'RUNNING';
    run.status = running;
    run.startedAt = this.#options.clock.now();
    const { unknown, vanishesAfterMs, durationMs = 60_000, end = 'COMPLETED' } = script;
    const say = (delayMs: number, status: string): void =>
      this.#after(delayMs, () => {
        if (run.endedAt === null) run.status = status;
      });
    if (unknown !== undefined) {
      say(unknown.afterMs, 'UNKNOWN');
      if (unknown.forMs !== null) say(unknown.afterMs + unknown.forMs, running);
    }
    if (vanishesAfterMs !== undefined) {
      this.#after(vanishesAfterMs, () => {
        run.isVanished = true;
      });
    }
    if (durationMs !== null)
      this.#after(this.#ms(durationMs), () => this.end(run.deploymentId, end));
  }

  #after(delayMs: number, act: () => void): void {
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      act();
    });
    this.#timers.add(cancel);
  }

  #ms(time: Ms): number {
    if (typeof time === 'number') return time;
    const [least, most] = time;
    return Math.round(least + (most - least) * this.#options.random());
  }
}

/** What a callback says of a run: COMPLETED is called RUN_COMPLETED there. */
export function callbackBody(run: FakeRun): string {
  return JSON.stringify({
    deviceId: String(run.deviceId),
    userId: String(run.userId),
    deploymentId: run.deploymentId,
    status: run.status === 'COMPLETED' ? 'RUN_COMPLETED' : run.status,
    botOutput: {},
  });
}

/** Carries a callback. @returns the status of the answer; 0 where there was none. */
export type SendCallback = (callback: FakeCallback, body: string) => Promise<number>;

export interface SentCallback {
  readonly deploymentId: string;
  readonly at: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
}

/** Sends the callbacks of a run as the switches say. */
export async function sendCallbacks(
  run: FakeRun,
  send: SendCallback,
  { copies, headers, retries }: CallbackSwitches,
): Promise<Omit<SentCallback, 'at'>[]> {
  const { callback, deploymentId } = run;
  if (callback === null) return [];
  const asked = { url: callback.url, headers: headers ?? callback.headers };
  const body = callbackBody(run);
  const sent: Omit<SentCallback, 'at'>[] = [];
  for (let copy = 0; copy < copies; copy += 1) {
    for (let attempt = 0; attempt <= retries; attempt += 1) {
      const status = await send(asked, body);
      sent.push({ deploymentId, headers: asked.headers, body, status });
      if (status >= 200 && status < 300) break;
    }
  }
  return sent;
}
