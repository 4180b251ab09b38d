import type { WebSocket } from '@fastify/websocket';
import { z } from 'zod';
import {
  type SocketClosing,
  type SocketMessage,
  type SocketRequest,
  socketClosings,
} from '../protocol/client-socket.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { CancelTimer } from '../std/clock.ts';
import { parseJson } from '../std/json.ts';
import type { ServerContext } from './context.ts';
import { heartbeatMs, type StreamedEvent } from './event-stream.ts';
import { Wake } from './live-feed.ts';
import { enter, type Following, followAll, followJob, pump, type Sink } from './streams.ts';

/** Bytes that wait for the reader; nothing is added to more, so that the most is this and one message. */
const maxBufferedBytes = 1024 * 1024;
/** For the reader's answer to a close; then the connection is cut. */
const closeGraceMs = 2_000;

const watchName = z.string().min(1).max(100);
const request: z.ZodType<SocketRequest> = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('watch'),
    watch: watchName,
    job: z.exactOptional(z.string().min(1).max(200)),
    after: z.exactOptional(z.int().min(0)),
  }),
  z.strictObject({ type: z.literal('unwatch'), watch: watchName }),
]);

/** One client's socket with its watches, each of which counts as an event stream, as the socket does. */
export class ClientSocket {
  readonly #context: ServerContext;
  readonly #client: string;
  readonly #socket: WebSocket;
  readonly #watches = new Map<string, Watch>();
  readonly #leave: () => void;
  readonly #onStop = (): void => this.close('stopping');
  #onRoom: (() => void)[] = [];
  #requests: Promise<void> = Promise.resolve();
  #wasHeard = true;
  #cancelBeat: CancelTimer;
  #cancelCut: CancelTimer = () => undefined;

  /** @throws LIMIT, and the socket is as it was. */
  constructor(context: ServerContext, client: string, socket: WebSocket) {
    this.#context = context;
    this.#client = client;
    this.#socket = socket;
    this.#leave = enter(context, client);
    this.#cancelBeat = context.clock.after(heartbeatMs, () => this.#beat());
    context.closing.addEventListener('abort', this.#onStop);
    socket.on('pong', () => this.#heard());
    socket.on('close', () => this.#closed());
    socket.on('message', (data, isBinary) => {
      this.#heard();
      if (isBinary) this.close('binary');
      else this.#inTurn(String(data));
    });
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Resolves when there is room for more, or it is closed. */
  async write(text: string): Promise<void> {
    while (this.isOpen && this.#socket.bufferedAmount >= maxBufferedBytes) {
      await new Promise<void>((resolve) => this.#onRoom.push(resolve));
    }
    if (!this.isOpen) return;
    this.#socket.send(text, () => {
      this.#heard();
      this.#room();
    });
  }

  /** Says why; what the reader does not take in time is lost with the connection, but nothing is in the store. */
  close(why: SocketClosing): void {
    if (!this.isOpen) return;
    const { code, reason } = socketClosings[why];
    this.#cancelCut = this.#context.clock.after(closeGraceMs, () => this.#socket.terminate());
    this.#socket.close(code, reason);
    this.#release();
  }

  /** The next request is read when this one is done with: who asks much waits. */
  #inTurn(text: string): void {
    this.#socket.pause();
    this.#requests = this.#requests
      .then(() => this.#take(text))
      .catch((error: unknown) => {
        this.#context.log.error('a request on a socket failed', { error });
        this.close('broken');
      })
      .finally(() => this.#socket.resume());
  }

  async #take(text: string): Promise<void> {
    const parsed = parseJson(text);
    const asked = request.safeParse(parsed.ok ? parsed.value : undefined);
    if (!asked.success) return this.close('malformed');
    const { type, watch } = asked.data;
    if (type === 'unwatch') return this.#watches.get(watch)?.end();
    if (this.#watches.has(watch)) return this.close('malformed');
    if (this.isOpen) await this.#begin(asked.data);
  }

  async #begin({ watch: name, job, after = 0 }: SocketRequest & { type: 'watch' }): Promise<void> {
    try {
      const leave = enter(this.#context, this.#client);
      const watch = new Watch(name, this, () => {
        leave();
        this.#watches.delete(name);
      });
      this.#watches.set(name, watch);
      try {
        watch.follow(this.#context, await this.#following(job, after));
      } catch (error) {
        watch.end();
        throw error;
      }
    } catch (error) {
      if (!(error instanceof CapatazError)) throw error;
      await this.write(textOf({ type: 'refused', watch: name, error: error.toBody() }));
    }
  }

  /** @throws JOB_NOT_FOUND, also for a job of another client */
  async #following(job: string | undefined, after: number): Promise<Following> {
    if (job === undefined) return followAll(this.#context, this.#client, after);
    const own = await this.#context.engine.jobs.get(job.toLowerCase(), this.#client);
    return followJob(this.#context, own, after);
  }

  #heard(): void {
    this.#wasHeard = true;
  }

  /** Whoever neither answered a ping nor took anything since the last one is gone. */
  #beat(): void {
    if (!this.#wasHeard) return this.close(this.#socket.bufferedAmount > 0 ? 'slow' : 'silent');
    this.#wasHeard = false;
    this.#socket.ping();
    // Others may have committed what nobody here was told of.
    for (const watch of this.#watches.values()) watch.look();
    this.#cancelBeat = this.#context.clock.after(heartbeatMs, () => this.#beat());
  }

  #room(): void {
    const waiting = this.#onRoom;
    this.#onRoom = [];
    for (const resolve of waiting) resolve();
  }

  #release(): void {
    this.#cancelBeat();
    this.#context.closing.removeEventListener('abort', this.#onStop);
    for (const watch of [...this.#watches.values()]) watch.end();
    this.#room();
  }

  #closed(): void {
    this.#cancelCut();
    this.#release();
    this.#leave();
  }
}

/** One of a socket's event streams. */
class Watch implements Sink {
  readonly #name: string;
  readonly #socket: ClientSocket;
  readonly #onEnd: () => void;
  readonly #wake = new Wake();
  #hasEnded = false;

  constructor(name: string, socket: ClientSocket, onEnd: () => void) {
    this.#name = name;
    this.#socket = socket;
    this.#onEnd = onEnd;
  }

  get isOpen(): boolean {
    return !this.#hasEnded && this.#socket.isOpen;
  }

  follow(context: ServerContext, following: Following): void {
    void pump(context, this, following, this.#wake).then(async (how) => {
      // The reader comes back with the last position of each watch.
      if (how === 'broken') this.#socket.close('broken');
      if (how === 'end') await this.#write({ type: 'end', watch: this.#name });
      this.end();
    });
  }

  look(): void {
    this.#wake.ring();
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#wake.ring();
    this.#onEnd();
  }

  async send(events: readonly StreamedEvent[]): Promise<void> {
    for (const { id, name = 'entry', data } of events) {
      if (!this.isOpen) return;
      const head = { type: name, watch: this.#name, ...(id === undefined ? {} : { after: id }) };
      // The data is JSON already, and shared by all who are sent it.
      await this.#socket.write(`${JSON.stringify(head).slice(0, -1)},"data":${data}}`);
    }
  }

  async mark(id: number): Promise<void> {
    if (this.isOpen) await this.#write({ type: 'mark', watch: this.#name, after: id });
  }

  #write(message: SocketMessage): Promise<void> {
    return this.#socket.write(textOf(message));
  }
}

function textOf(message: SocketMessage): string {
  return JSON.stringify(message);
}
