import type { Clock } from 'capataz/server';
import { busEvent, exchangeOf, type Message } from '../contract/messages.ts';
import type { Originator } from '../contract/names.ts';
import type { ServiceWorld } from '../service.ts';

export interface LogStreamOptions extends Pick<ServiceWorld, 'bus' | 'log' | 'newId'> {
  readonly clock: Clock;
  readonly originator: Originator;
  readonly taskId: string;
  /** Goes with every message: which order, which attempt. */
  readonly fields: Readonly<Record<string, string>>;
}

/** So often at most, and so much at most, whatever a program prints. */
const everyMs = 500;
const maxChars = 8_000;

/**
 * What a program prints, for whoever watches: `log.info` on `topico.logs`, gathered. Best effort: what
 * is too much, or can't be published, is left out. Nothing waits for it.
 */
export class LogStream implements Disposable {
  readonly #options: LogStreamOptions;
  #text = '';
  #leftOut = 0;
  #cancel: (() => void) | null = null;

  constructor(options: LogStreamOptions) {
    this.#options = options;
  }

  write(text: string): void {
    const kept = text.slice(0, maxChars - this.#text.length);
    this.#text += kept;
    this.#leftOut += text.length - kept.length;
    this.#cancel ??= this.#options.clock.after(everyMs, () => this.#flush());
  }

  [Symbol.dispose](): void {
    this.#cancel?.();
    this.#flush();
  }

  #flush(): void {
    this.#cancel = null;
    if (this.#text === '') return;
    const note = this.#leftOut === 0 ? '' : `\n… ${this.#leftOut} characters left out …`;
    const { bus, clock, newId, originator, taskId, fields, log } = this.#options;
    const message: Message = {
      ...{ name: 'log.info', taskId, traceId: newId(), time: clock.now(), originator },
      payload: { mensaje: `${this.#text.trimEnd()}${note}`, campos: { ...fields } },
    };
    this.#text = '';
    this.#leftOut = 0;
    bus.publish(exchangeOf(message.name), busEvent(message)).catch((error: unknown) => {
      log.debug('a piece of a log was not published', { job: taskId, error });
    });
  }
}
