import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { CapatazError } from '../../../protocol/errors.ts';
import { assert, unreachable } from '../../../std/assert.ts';
import { migrationsIn } from '../../../std/migrations.ts';
import { sqlTexts } from '../../../std/sql-texts.ts';
import { refuseForeign } from '../../archive-refusals.ts';
import type { HistoryRow } from '../../contract.ts';
import { bookOf, type EventsRow, eventPageOf } from '../../rows.ts';
import { foldWal, openWriting } from '../database.ts';
import { outage } from '../errors.ts';
import { appliedIn, migrate } from '../migrate.ts';
import { Statements } from '../statements.ts';
import type { ArchiveAnswers, ArchiveQuestion, ArchiveReply } from './messages.ts';

/**
 * The thread that has an archive open. A disk of its own may be slow or hang: that must not stop the
 * engine, which has the thread of the server.
 */
class ArchiveFile {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;

  constructor(file: string) {
    this.#database = openWriting(file, 'full');
    const own = migrationsIn(new URL('./migrations/', import.meta.url));
    refuseForeign(file, appliedIn(this.#database), own);
    migrate(this.#database, own);
    const texts = sqlTexts(new URL('./statements/', import.meta.url));
    this.#statements = new Statements(this.#database, texts);
  }

  answer(question: ArchiveQuestion): ArchiveAnswers[keyof ArchiveAnswers] {
    switch (question.type) {
      case 'write':
        return this.#write(question.rows);
      case 'history': {
        const { jobId, after, limit } = question;
        const rows = this.#statements.all<HistoryRow>('read-history', jobId, after, limit);
        return bookOf(rows, after, limit);
      }
      case 'events': {
        const { after, upTo, limit } = question;
        const rows = this.#statements.all<EventsRow>('read-events', after, upTo, limit);
        return eventPageOf(rows, after, limit);
      }
      case 'forget':
        this.#statements.run('books-forget', JSON.stringify(question.jobIds));
        return null;
      case 'close':
        foldWal(this.#database);
        this.#database.close();
        return null;
      default:
        return unreachable(question);
    }
  }

  #write(rows: Extract<ArchiveQuestion, { type: 'write' }>['rows']): ArchiveAnswers['write'] {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const written = rows.filter(({ position, jobId, seq, at, count, entries, ...row }) => {
        const values = [position, jobId, seq, at, count, entries, row.client, row.correlationId];
        return this.#statements.run('book-write', ...values).changes === 1;
      });
      const isOurs = written.length === rows.length;
      this.#database.exec(isOurs ? 'COMMIT' : 'ROLLBACK');
      return isOurs ? 'written' : 'foreign';
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}

let archive: ArchiveFile | null = null;

function reply(question: ArchiveQuestion): ArchiveReply {
  try {
    if (archive === null && question.type === 'close') return { type: 'done', answer: null };
    archive ??= new ArchiveFile(String(workerData));
    return { type: 'done', answer: archive.answer(question) };
  } catch (error) {
    const why = outage(error);
    if (why !== null) return { type: 'outage', why };
    if (error instanceof CapatazError) {
      const { code, message } = error;
      if (code === 'CONFIG_INVALID' || code === 'STORE_NEWER')
        return { type: 'refused', code, message };
    }
    return { type: 'bug', message: error instanceof Error ? String(error.stack) : String(error) };
  }
}

assert(parentPort !== null, 'the archive has a thread of its own');
const port = parentPort;
port.on('message', (question: ArchiveQuestion) => port.postMessage(reply(question)));
