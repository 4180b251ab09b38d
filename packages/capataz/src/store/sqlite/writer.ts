import type { DatabaseSync } from 'node:sqlite';
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { assert } from '../../std/assert.ts';
import { foldWal, openWriting } from './database.ts';
import { isBusy, outage } from './errors.ts';
import type { FromWriter, Operation, Reply, WriterOptions } from './messages.ts';
import { applyOperation, Housekeeping } from './operations.ts';
import { Statements } from './statements.ts';
import { messagesIn, type Parcel, parcelOf, TextBag } from './texts.ts';
import { WriterState } from './writer-state.ts';

/**
 * The thread that writes. What arrived while a transaction ran shares the next one, and nothing
 * waits for company (S-4): it looks for more only when it is about to begin.
 */

/** A transaction is closed at this many operations, so that the first of them is answered in time. */
const maxOperations = 500;
/** Times that BEGIN is tried anew, each after the busy timeout, while another process writes. */
const maxBegins = 6;

class Writer {
  readonly #database: DatabaseSync;
  readonly #state: WriterState;
  readonly #housekeeping = new Housekeeping();
  /** What the state remembers may be of a transaction that was rolled back. */
  #isStale = false;

  constructor({ database, synchronous }: WriterOptions) {
    this.#database = openWriting(database, synchronous);
    this.#state = new WriterState(new Statements(this.#database));
  }

  /** All in one transaction; where one of them turns out to be a bug, each in one of its own. */
  run(operations: readonly Operation[]): Reply[] {
    try {
      return this.#transact(operations);
    } catch (error) {
      const why = outage(error);
      if (why !== null) return operations.map(() => ({ type: 'outage', why }));
      if (operations.length > 1) return operations.flatMap((operation) => this.run([operation]));
      const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
      return [{ type: 'bug', message, stack }];
    }
  }

  #transact(operations: readonly Operation[]): Reply[] {
    this.#begin();
    try {
      if (this.#isStale) this.#state.reload();
      this.#isStale = false;
      const replies: Reply[] = [];
      let latest = 0;
      for (const operation of operations) {
        const texts = new TextBag();
        const answer = applyOperation(this.#state, operation, texts);
        replies.push({ type: 'done', answer, texts: texts.texts });
        latest = Math.max(latest, operation.at);
      }
      this.#housekeeping.atEndOf(this.#state, latest);
      this.#database.exec('COMMIT');
      return replies;
    } catch (error) {
      // Read anew by the next transaction: the disk that failed this one may fail a read here, too.
      this.#isStale = true;
      this.#housekeeping.undone();
      this.#rollBack();
      throw error;
    }
  }

  /** A full disk or a failed write may have rolled back already. */
  #rollBack(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  #begin(): void {
    this.#rollBack();
    for (let tries = 1; ; tries += 1) {
      try {
        this.#database.exec('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if (!isBusy(error) || tries === maxBegins) throw error;
      }
    }
  }

  close(): void {
    foldWal(this.#database);
    this.#database.close();
  }
}

function serve(port: MessagePort): void {
  const writer = new Writer(workerData as WriterOptions);
  const send = (message: FromWriter): void => port.postMessage(message);
  /** In halves where the text of all is longer than a string can be: they are committed and must arrive. */
  const sendReplies = (replies: readonly Reply[]): void => {
    try {
      send(parcelOf(replies));
    } catch (error) {
      if (replies.length < 2) {
        const tooLong: Reply = { type: 'bug', message: String(error), stack: '' };
        return send(parcelOf([tooLong]));
      }
      const half = replies.length >> 1;
      sendReplies(replies.slice(0, half));
      sendReplies(replies.slice(half));
    }
  };
  port.on('message', (first: Parcel) => {
    const operations = messagesIn<Operation>(first);
    while (operations.length < maxOperations) {
      const more = receiveMessageOnPort(port) as { message: Parcel } | undefined;
      if (more === undefined) break;
      operations.push(...messagesIn<Operation>(more.message));
    }
    const replies = writer.run(operations);
    // Nothing comes after `close`, which is always the last operation.
    const isLast = operations.at(-1)?.type === 'close';
    if (isLast) writer.close();
    sendReplies(replies);
    if (isLast) port.close();
  });
  send('ready');
}

assert(parentPort !== null, 'the writer runs in a thread of its own');
serve(parentPort);
