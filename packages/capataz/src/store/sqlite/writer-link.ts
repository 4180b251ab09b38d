import { Worker } from 'node:worker_threads';
import { InternalError } from '../../std/assert.ts';
import { unavailable, uncertain } from '../refusals.ts';
import type { Done, FromWriter, Operation, Reply, WriterOptions } from './messages.ts';
import { messagesIn, parcelOf } from './texts.ts';

interface Asked {
  readonly resolve: (done: Done) => void;
  readonly reject: (error: Error) => void;
}

/** The asking end of the line to the thread that writes: what is asked first is answered first. */
export class WriterLink {
  readonly #worker: Worker;
  readonly #asked: Asked[] = [];
  #answered = 0;
  #unsent: Operation[] = [];
  #refusal: Error | null = null;
  #onDeath: (error: Error) => void = () => {};

  private constructor(worker: Worker, ready: () => void) {
    this.#worker = worker;
    worker.on('message', (message: FromWriter) => {
      if (message === 'ready') ready();
      else this.#settle(messagesIn<Reply>(message));
    });
    worker.on('error', (error) =>
      this.#fail(uncertain(`the writing thread died (${error.message})`, error)),
    );
    worker.on('exit', () => this.#fail(uncertain('the writing thread ended')));
  }

  /**
   * Resolves when the writer has opened the database. From then on `onDeath` is called once if the
   * thread ends without being closed: nothing that is asked afterwards is answered.
   */
  static async start(options: WriterOptions, onDeath: (error: Error) => void): Promise<WriterLink> {
    // The same module, as source or compiled.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const worker = new Worker(new URL(`./writer.${extension}`, import.meta.url), {
      workerData: options,
    });
    const ready = Promise.withResolvers<void>();
    const link = new WriterLink(worker, ready.resolve);
    worker.once('error', ready.reject);
    worker.once('exit', () => ready.reject(unavailable('the writing thread ended at its start')));
    await ready.promise;
    link.#onDeath = onDeath;
    // From now on only a request that waits for its answer keeps the process alive.
    worker.unref();
    return link;
  }

  /** What is asked in one turn of the event loop travels together. */
  ask(operation: Operation): Promise<Done> {
    if (this.#refusal !== null) return Promise.reject(this.#refusal);
    return new Promise((resolve, reject) => {
      if (this.#asked.length === this.#answered) this.#worker.ref();
      this.#asked.push({ resolve, reject });
      this.#unsent.push(operation);
      if (this.#unsent.length === 1) queueMicrotask(() => this.#send());
    });
  }

  /** Finishes what was asked, then lets the thread end. */
  async close(at: number): Promise<void> {
    const closed = this.ask({ type: 'close', at });
    this.#refusal ??= unavailable('it is closed');
    await closed;
    await this.#worker.terminate();
  }

  #send(): void {
    const operations = this.#unsent;
    this.#unsent = [];
    this.#post(operations, this.#asked.slice(-operations.length));
  }

  /** In halves where all together are no text: too long for one, or with something that is no JSON. */
  #post(operations: readonly Operation[], asked: readonly Asked[]): void {
    try {
      this.#worker.postMessage(parcelOf(operations));
    } catch (error) {
      const half = operations.length >> 1;
      if (half === 0) return this.#unsendable(asked[0], error);
      this.#post(operations.slice(0, half), asked.slice(0, half));
      this.#post(operations.slice(half), asked.slice(half));
    }
  }

  #unsendable(asked: Asked | undefined, error: unknown): void {
    const index = asked === undefined ? -1 : this.#asked.indexOf(asked, this.#answered);
    // The thread died meanwhile, and everything that was asked is refused.
    if (index === -1) return;
    this.#asked.splice(index, 1);
    asked?.reject(error instanceof Error ? error : new Error(String(error)));
    this.#restIfIdle();
  }

  #settle(replies: readonly Reply[]): void {
    for (const reply of replies) {
      const asked = this.#asked[this.#answered];
      this.#answered += 1;
      if (asked === undefined) continue;
      if (reply.type === 'done') asked.resolve(reply);
      else if (reply.type === 'outage') asked.reject(unavailable(reply.why));
      else asked.reject(new InternalError(`${reply.message}\n${reply.stack}`));
    }
    this.#restIfIdle();
  }

  #restIfIdle(): void {
    if (this.#answered === this.#asked.length) this.#worker.unref();
    if (this.#answered > 1_000 || this.#answered === this.#asked.length) {
      this.#asked.splice(0, this.#answered);
      this.#answered = 0;
    }
  }

  #fail(error: Error): void {
    const isFirst = this.#refusal === null;
    this.#refusal ??= error;
    for (const { reject } of this.#asked.splice(this.#answered)) reject(error);
    if (isFirst) this.#onDeath(error);
  }
}
