import { CapatazError } from '../protocol/errors.ts';
import { type CancelTimer, type Clock, delay } from '../std/clock.ts';
import { type Duration, parseDuration } from '../std/duration.ts';
import type { Log } from '../std/log.ts';
import type { ScheduleDefinition } from './composition.ts';

interface ScheduleParts<Server> {
  readonly server: Server;
  readonly clock: Clock;
  readonly log: Log;
}

/** One schedule: the next run is planned when the one before has ended, so that two never meet. */
export class Schedule<Server> {
  readonly #definition: ScheduleDefinition<Server>;
  readonly #parts: ScheduleParts<Server>;
  readonly #everyMs: number;
  readonly #stopping = new AbortController();
  #cancelAlarm: CancelTimer = () => undefined;
  #running: Promise<void> | null = null;

  constructor(definition: ScheduleDefinition<Server>, parts: ScheduleParts<Server>) {
    this.#definition = definition;
    this.#parts = parts;
    this.#everyMs = intervalMs(definition.name, definition.every);
  }

  start(): void {
    this.#plan(this.#definition.atStart === true ? 0 : this.#everyMs);
  }

  /** Plans no further run and waits for the one that is under way, at most `drainMs`. */
  async stop(drainMs: number): Promise<void> {
    this.#stopping.abort();
    this.#cancelAlarm();
    const ended = new AbortController();
    const patience = delay(this.#parts.clock, drainMs, ended.signal);
    await Promise.race([this.#running, patience]);
    ended.abort();
  }

  #plan(inMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelAlarm = this.#parts.clock.after(inMs, () => {
      this.#running = this.#run();
    });
  }

  async #run(): Promise<void> {
    const { clock, log, server } = this.#parts;
    const { name, from = 'start', run } = this.#definition;
    const startedAt = clock.steady();
    try {
      await run(server, { signal: this.#stopping.signal });
    } catch (error) {
      const wasStopped = this.#stopping.signal.aborted;
      if (!wasStopped) log.error('a schedule failed; it runs again', { schedule: name, error });
    }
    this.#running = null;
    const countedFrom = from === 'start' ? startedAt : clock.steady();
    this.#plan(Math.max(0, countedFrom + this.#everyMs - clock.steady()));
  }
}

/** @throws CapatazError CONFIG_INVALID for two of one name, and for one without a length of time. */
export function createSchedules<Server>(
  definitions: readonly ScheduleDefinition<Server>[],
  parts: ScheduleParts<Server>,
): Schedule<Server>[] {
  const names = new Set<string>();
  return definitions.map((definition) => {
    if (names.has(definition.name)) throw invalid(definition.name, 'there are two of this name');
    names.add(definition.name);
    return new Schedule(definition, parts);
  });
}

function intervalMs(name: string, every: Duration): number {
  const ms = parseDuration(every);
  if (ms !== undefined && ms > 0) return ms;
  throw invalid(name, `every "${every}" is no length of time; write it like 10s, 5m or 1h30m`);
}

function invalid(name: string, problem: string): CapatazError {
  const hint = 'This is code of the application: mend it there.';
  return new CapatazError('CONFIG_INVALID', `schedule "${name}": ${problem}`, { hint });
}
