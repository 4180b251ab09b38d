/** `npm run example:nightly`: every line that begins with `$` is a command that you could type. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Client, createClient, type PositionedEvent, type ScheduleView } from 'capataz/client';

const here = fileURLToPath(new URL('.', import.meta.url));
const program = fileURLToPath(new URL('../../packages/capataz/bin/capataz.mjs', import.meta.url));
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** All days begin after the night, so that what is shown does not depend on when it is tried. */
const morningMs = 5 * hourMs;

async function run(...words: string[]): Promise<void> {
  console.log(`\n$ capataz ${words.map(quoted).join(' ')}`);
  const child = spawn(process.execPath, [program, ...words], { cwd: here, stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`it ended with ${code}`);
}

function quoted(word: string): string {
  return /^[\w./:@=-]+$/.test(word) ? word : `'${word}'`;
}

/** A server whose clock can be moved, so that nobody has to wait for the night. */
class Server {
  readonly #folder: string;
  #stop: () => Promise<void> = async () => undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @returns where it listens. */
  async start(): Promise<string> {
    const args = ['serve', '--port', '0', '--data-dir', this.#folder, '--log-level', 'error'];
    const child = spawn(process.execPath, [program, ...args], {
      cwd: here,
      env: { CAPATAZ_TEST_CLOCK: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    this.#stop = async () => {
      child.kill('SIGTERM');
      await ended;
    };
    for await (const line of createInterface({ input: child.stdout })) {
      const [, url] = /^listening on (\S+)$/.exec(line) ?? [];
      if (url !== undefined) return url;
    }
    throw new Error('the server ended before it listened');
  }

  stop(): Promise<void> {
    return this.#stop();
  }
}

/** @returns what the server's clock shows then. */
async function moveClock(url: string, byMs: number): Promise<number> {
  const response = await fetch(`${url}/_test/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advance_ms: byMs }),
  });
  return ((await response.json()) as { now: number }).now;
}

type Events = AsyncIterator<PositionedEvent>;

/** Moves to the next morning, from start to start, and stays at each until its job has ended. */
async function passDay(url: string, { schedules }: Client, events: Events): Promise<void> {
  const begun = await moveClock(url, 0);
  const until = begun + dayMs - ((begun - morningMs) % dayMs);
  for (;;) {
    const now = await moveClock(url, 0);
    const next = nextStart(await schedules.list());
    await moveClock(url, Math.max(0, Math.min(next, until) - now));
    if (next > until) return;
    await jobEnd(events);
  }
}

async function jobEnd(events: Events): Promise<void> {
  for (;;) {
    const { done, value } = await events.next();
    if (done === true || value.entry.type === 'job_finished') return;
  }
}

function nextStart(schedules: readonly ScheduleView[]): number {
  const next = schedules.flatMap(({ paused, next_starts }) =>
    paused ? [] : next_starts.slice(0, 1),
  );
  return Math.min(...next.map((instant) => Date.parse(instant)));
}

const folder = await mkdtemp(join(tmpdir(), 'capataz-nightly-'));
const server = new Server(join(folder, 'data'));
try {
  await run('schedules', 'check');
  // 02:00 becomes 03:00 on the 29th: the day has its report all the same.
  await run('schedules', 'preview', 'report', '--from', '2026-03-28', '--count', '3');
  // 03:00 becomes 02:00: what runs every hour goes on every hour, but for the blackout.
  await run('schedules', 'preview', 'sync', '--from', '2026-10-24T21:00', '--count', '9');
  const url = await server.start();
  const client = createClient({ url });
  const events = client.events()[Symbol.asyncIterator]();
  await passDay(url, client, events);
  await passDay(url, client, events);
  await run('schedules', 'list', '--url', url);
  await run('jobs', 'list', '--attr', 'schedule=report', '--url', url);
  await run('schedules', 'pause', 'sync', '--url', url);
  await passDay(url, client, events);
  await run('schedules', 'resume', 'sync', '--url', url);
  await run('schedules', 'list', '--url', url);
  await run('schedules', 'show', 'sync', '--url', url);
  await events.return?.();
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
