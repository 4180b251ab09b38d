import type { ServerResponse } from 'node:http';
import type { CancelTimer, Clock } from '../std/clock.ts';

export interface StreamedEvent {
  /** What the reader gives back as `Last-Event-ID`. */
  readonly id?: number;
  /** Default: an event without a name. */
  readonly name?: string;
  /** JSON, which has no line breaks. */
  readonly data: string;
}

/** Shorter than the idle time-outs of common proxies, which begin at 30 s. */
export const heartbeatMs = 15_000;

/** Characters that are written at once, about: all entries of a page together may be no text. */
const maxChunk = 1024 * 1024;

/** One open answer of server-sent events. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #onBeat: () => void;
  #cancelBeat: CancelTimer;

  /** `onBeat` is called every 15 s while the stream is open, and once when it closes. */
  constructor(response: ServerResponse, clock: Clock, onBeat: () => void) {
    this.#response = response;
    this.#clock = clock;
    this.#onBeat = onBeat;
    response.writeHead(200, {
      ...Object.fromEntries(Object.entries(response.getHeaders())),
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      // The stream is the last thing on its connection, so that nothing idle is left when it ends.
      Connection: 'close',
      'X-Accel-Buffering': 'no',
    });
    response.flushHeaders();
    this.#cancelBeat = clock.after(heartbeatMs, () => this.#beat());
    response.once('close', () => {
      this.#cancelBeat();
      onBeat();
    });
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  /** Resolves when the connection takes more, or is closed. */
  async send(events: readonly StreamedEvent[]): Promise<void> {
    for (let next = 0; next < events.length && this.isOpen; ) {
      let text = '';
      for (; next < events.length && text.length < maxChunk; next += 1) {
        const event = events[next];
        if (event !== undefined) text += eventText(event);
      }
      await this.#write(text);
    }
  }

  /** Moves the reader's `Last-Event-ID` past what is not for it. */
  async mark(id: number): Promise<void> {
    if (this.isOpen) await this.#write(`id: ${id}\n\n`);
  }

  end(): void {
    this.#cancelBeat();
    if (this.isOpen) this.#response.end();
  }

  #beat(): void {
    if (!this.isOpen) return;
    this.#response.write(': alive\n\n');
    this.#cancelBeat = this.#clock.after(heartbeatMs, () => this.#beat());
    this.#onBeat();
  }

  #write(text: string): Promise<void> {
    if (this.#response.write(text)) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        this.#response.off('drain', done);
        this.#response.off('close', done);
        resolve();
      };
      this.#response.on('drain', done);
      this.#response.on('close', done);
    });
  }
}

function eventText({ id, name, data }: StreamedEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${name === undefined ? '' : `event: ${name}\n`}`;
  return `${head}data: ${data}\n\n`;
}
