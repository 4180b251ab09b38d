import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { StoredEntry } from '../../../core/history.ts';
import { CapatazError } from '../../../protocol/errors.ts';
import { InternalError } from '../../../std/assert.ts';
import type { Clock } from '../../../std/clock.ts';
import { archiveAway, foreignArchive } from '../../archive-refusals.ts';
import type { Archive, BookRow, EventPage } from '../../contract.ts';
import { DatabasePlace } from '../place.ts';
import type { ArchiveAnswers, ArchiveQuestion, ArchiveReply } from './messages.ts';

/** Whoever asked is told then that the disk does not answer. */
const patienceMs = 30_000;

interface Asked {
  readonly settle: (reply: ArchiveReply) => void;
  readonly fail: (why: string, cause?: unknown) => void;
}

/** A thread with the file open, and what was asked of it and is not answered. */
interface Line {
  readonly worker: Worker;
  /** Once the file is there. */
  place: DatabasePlace | null;
  readonly asked: Asked[];
}

/** An archive in a file, which one server has open. */
export class SqliteArchive implements Archive {
  readonly name: string;
  readonly #clock: Clock;
  #line: Line | null = null;
  #isClosed = false;

  constructor(file: string, clock: Clock) {
    this.name = file;
    this.#clock = clock;
  }

  async write(rows: readonly BookRow[]): Promise<void> {
    const answer = await this.#ask({ type: 'write', rows });
    if (answer === 'foreign') throw foreignArchive(this.name);
  }

  history(jobId: string, after: number, limit: number): Promise<StoredEntry[]> {
    return this.#ask({ type: 'history', jobId, after, limit });
  }

  events(after: number, upTo: number, limit: number): Promise<EventPage> {
    return this.#ask({ type: 'events', after, upTo, limit });
  }

  async forget(jobIds: readonly string[]): Promise<void> {
    await this.#ask({ type: 'forget', jobIds });
  }

  /** One server has it. */
  async alone(work: () => Promise<void>): Promise<boolean> {
    await work();
    return true;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#line !== null) await this.#ask({ type: 'close' }).catch(() => undefined);
    this.#isClosed = true;
    await this.#line?.worker.terminate();
  }

  async #ask<Q extends ArchiveQuestion>(question: Q): Promise<ArchiveAnswers[Q['type']]> {
    if (this.#isClosed) throw archiveAway(this.name, 'it is closed');
    const { worker, place, asked } = this.#openLine();
    const problem = place?.problem() ?? null;
    if (problem !== null) throw archiveAway(this.name, problem);
    const answered = Promise.withResolvers<ArchiveReply>();
    const fail: Asked['fail'] = (why, cause) => answered.reject(archiveAway(this.name, why, cause));
    const cancel = this.#clock.after(patienceMs, () => fail('the disk takes too long'));
    if (asked.length === 0) worker.ref();
    asked.push({ settle: answered.resolve, fail });
    worker.postMessage(question);
    try {
      // The thread answers each type of question with its type of answer.
      return this.#resultOf(await answered.promise) as ArchiveAnswers[Q['type']];
    } finally {
      cancel();
    }
  }

  #resultOf(reply: ArchiveReply): ArchiveAnswers[keyof ArchiveAnswers] {
    switch (reply.type) {
      case 'done':
        return reply.answer;
      case 'outage':
        throw archiveAway(this.name, reply.why);
      case 'refused':
        throw new CapatazError(reply.code, reply.message);
      case 'bug':
        throw new InternalError(reply.message);
    }
  }

  /** A thread that died is replaced by the next question. */
  #openLine(): Line {
    if (this.#line !== null) return this.#line;
    try {
      mkdirSync(dirname(this.name), { recursive: true });
    } catch (error) {
      throw archiveAway(this.name, 'its folder can not be made', error);
    }
    // The same module, as source or compiled.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const thread = new URL(`./thread.${extension}`, import.meta.url);
    const worker = new Worker(thread, { workerData: this.name });
    const line: Line = { worker, place: null, asked: [] };
    const lost = (why: string, cause?: unknown): void => {
      if (this.#line === line) this.#line = null;
      for (const { fail } of line.asked.splice(0)) fail(why, cause);
    };
    worker.on('message', (reply: ArchiveReply) => {
      if (reply.type === 'done') line.place ??= new DatabasePlace(this.name, this.#clock);
      line.asked.shift()?.settle(reply);
      // Only a question that waits for its answer keeps the process alive.
      if (line.asked.length === 0) worker.unref();
    });
    worker.on('error', (error) => lost('its thread died', error));
    worker.on('exit', () => lost('its thread ended'));
    worker.unref();
    this.#line = line;
    return line;
  }
}
