import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { dispatch } from '../core/action.ts';
import { type Blueprint, blueprint } from '../core/blueprint.ts';
import type { TaskBody } from '../protocol/worker-api.ts';
import { type Random, systemRandom } from '../std/random.ts';
import { echoBlueprint } from '../testing/echo-blueprint.ts';
import { headerMap, parseRecording, type RecordedMessage } from '../testing/recording.ts';
import { type ServedEngine, serveEngine } from '../testing/served-engine.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

const recording = readFileSync(
  new URL('../testing/fixtures/rxon-wire.txt', import.meta.url),
  'utf8',
);

/** The WebSocket of the recording is served later (S-83). */
const messages = parseRecording(recording).filter(({ connection }) => connection !== 'C2');

const access = { clients: null, workers: null, commonWorkerToken: 'secure-worker-token' };

/** Ids as recorded: whoever draws one while `fixed` is set gets it. */
class RecordedIds implements Random {
  fixed: string | null = null;
  readonly next = systemRandom.next;
  readonly secret = systemRandom.secret;

  id(): string {
    return this.fixed ?? systemRandom.id();
  }
}

/** A blueprint that gives exactly one recorded task. */
function taskBlueprint(skill: string, params: TaskBody['params'], metadata?: object): Blueprint {
  return blueprint({
    name: `one-${skill}`,
    version: 1,
    states: {
      begin: {
        start: true,
        to: ['done'],
        handle: () =>
          dispatch(skill, params, {
            on: { success: 'done' },
            ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
          }),
      },
      done: { end: true },
    },
  });
}

/** One kept connection, on which answers come in the order of the requests. */
class Connection {
  readonly #socket: Socket;
  #received = '';
  #arrived: () => void = () => {};

  constructor(url: string) {
    this.#socket = connect(Number(new URL(url).port), '127.0.0.1');
    this.#socket.setEncoding('utf8');
    this.#socket.on('data', (text: string) => {
      this.#received += text;
      this.#arrived();
    });
  }

  send({ startLine, headers, body }: RecordedMessage): void {
    const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
    this.#socket.write(`${[startLine, ...lines].join('\r\n')}\r\n\r\n${body}`);
  }

  async receive(): Promise<Pick<RecordedMessage, 'startLine' | 'headers' | 'body'>> {
    for (;;) {
      const answer = this.#take();
      if (answer !== null) return answer;
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(): Pick<RecordedMessage, 'startLine' | 'headers' | 'body'> | null {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return null;
    const [startLine = '', ...lines] = this.#received.slice(0, end).split('\r\n');
    const headers = headerMap(lines);
    const bodyEnd = end + 4 + Number(headers.get('content-length') ?? 0);
    if (this.#received.length < bodyEnd) return null;
    const body = this.#received.slice(end + 4, bodyEnd);
    this.#received = this.#received.slice(bodyEnd);
    return { startLine, headers, body };
  }
}

async function setTime({ clock }: ServedEngine, unixSeconds: number): Promise<void> {
  const aheadMs = unixSeconds * 1_000 - clock.now();
  if (aheadMs > 0) await clock.advance(aheadMs);
}

/** What has to happen before the recorded worker sends, or is answered, this. */
async function prepare(
  served: ServedEngine,
  ids: RecordedIds,
  { from, body }: RecordedMessage,
): Promise<void> {
  if (body === '') return;
  const content = JSON.parse(body) as Partial<TaskBody>;
  if (content.timestamp !== undefined) await setTime(served, content.timestamp);
  if (from === 'client' || content.job_id === undefined) return;
  // The answer holds a task: its job is started now, under the recorded ids.
  ids.fixed = content.task_id ?? null;
  const [created] = await served.engine.jobs.create([
    { blueprint: `one-${content.type}`, client: 'dev', id: content.job_id, input: {} },
  ]);
  assert.partialDeepStrictEqual(created, { created: true });
}

/** Date and Server are free, and so is the order of keys. A store counts whole ms, RXON's server µs. */
function comparable({ startLine, headers, body }: Omit<RecordedMessage, 'connection' | 'from'>) {
  const content = body === '' ? null : JSON.parse(body);
  const isTimed = typeof content?.timestamp === 'number';
  if (isTimed) content.timestamp = Math.floor(content.timestamp * 1_000) / 1_000;
  const free = new Set(['date', 'server', ...(isTimed ? ['content-length'] : [])]);
  const fixed = [...headers].filter(([name]) => !free.has(name));
  return { startLine, headers: Object.fromEntries(fixed), body: content };
}

test('S-83: the recorded exchange of an RXON 1.0b14 worker is answered as it was', async () => {
  const ids = new RecordedIds();
  const clock = new VirtualClock({ now: 1_795_817_650_000 });
  await using served = await serveEngine({
    blueprints: [
      echoBlueprint,
      taskBlueprint('echo', { t: 0, x: 7 }, { m: 1 }),
      taskBlueprint('sleep', { s: 20 }),
    ],
    access,
    clock,
    random: ids,
  });
  const connections = new Map<string, Connection>();
  for (const message of messages) {
    const connection = connections.get(message.connection) ?? new Connection(served.url);
    connections.set(message.connection, connection);
    await prepare(served, ids, message);
    if (message.from === 'client') connection.send(message);
    else {
      assert.deepEqual(comparable(await connection.receive()), comparable(message));
      ids.fixed = null;
    }
  }
  for (const connection of connections.values()) connection.close();
  const statuses = (await served.store.jobs({ limit: 10 })).map(({ status }) => status);
  assert.deepEqual(statuses, ['finished', 'finished']);
});
