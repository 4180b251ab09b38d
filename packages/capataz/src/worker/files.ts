import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type RemoteFiles, TaskFolder, type Upload } from '../files/task-folder.ts';
import { CapatazError, type ErrorBody, errorCatalogue } from '../protocol/errors.ts';
import { encodedFileName, type UploadAnswer } from '../protocol/files.ts';
import { type Clock, delay } from '../std/clock.ts';
import { jittered, type Random } from '../std/random.ts';

export interface WorkerFilesOptions {
  readonly url: string;
  readonly token?: string;
  readonly workerId: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** The attempt whose files they are. */
export interface FilesOfAttempt {
  readonly jobId: string;
  readonly attempt: string;
  readonly signal: AbortSignal;
}

/** Transfers at once; further ones wait here and not with the server. */
const maxSockets = 4;
const maxTries = 10;
const firstPauseMs = 500;
const longestPauseMs = 10_000;
/** An answer that says something, and no file: larger ones are cut. */
const maxAnswerBytes = 64 * 1024;

/**
 * Files of a worker's tasks, over HTTP. Local copies lie in the machine's folder for what is
 * temporary, in one of this process alone; what a process that was killed left there is removed by
 * the next one of its id.
 */
export class WorkerFiles {
  readonly #options: WorkerFilesOptions;
  readonly #agent: Agent;
  #folder: string | null = null;

  constructor(options: WorkerFilesOptions) {
    this.#options = options;
    const isSecure = URL.parse(options.url)?.protocol === 'https:';
    this.#agent = new (isSecure ? SecureAgent : Agent)({ keepAlive: true, maxSockets });
  }

  of(attempt: FilesOfAttempt): TaskFolder {
    this.#folder ??= ownFolder(this.#options.workerId);
    return new TaskFolder(join(this.#folder, attempt.attempt), this.#remote(attempt));
  }

  /** Gives connections and local copies back. */
  close(): void {
    this.#agent.destroy();
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = null;
  }

  #remote(attempt: FilesOfAttempt): RemoteFiles {
    const { signal } = attempt;
    return {
      get: (name) => this.#repeated(signal, () => this.#ask('GET', name, attempt)),
      put: async (name, upload) => {
        const send = (): Promise<IncomingMessage> => this.#ask('PUT', name, attempt, upload);
        const answer = await this.#repeated(signal, send);
        // The server's own answer, of the type that its route documents.
        return JSON.parse(await shortText(answer)) as UploadAnswer;
      },
    };
  }

  /** A server that is busy, away or starting is asked again; a refusal is final. */
  async #repeated<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#options;
    for (let number = 1; ; number += 1) {
      try {
        return await ask();
      } catch (error) {
        signal.throwIfAborted();
        const mayHelp = error instanceof CapatazError && error.retryable;
        if (!mayHelp || number === maxTries) throw error;
      }
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (number - 1));
      await delay(clock, jittered(pauseMs, 0.5, random), signal);
      signal.throwIfAborted();
    }
  }

  /** One request. @returns an answer of success whose body is still to be read. */
  async #ask(
    method: 'GET' | 'PUT',
    name: string,
    attempt: FilesOfAttempt,
    upload?: Upload,
  ): Promise<IncomingMessage> {
    const answer = await this.#send(method, this.#pathOf(name, attempt), attempt.signal, upload);
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return answer;
    throw refusal(status, await shortText(answer));
  }

  #pathOf(name: string, { jobId, attempt }: FilesOfAttempt): string {
    const worker = encodeURIComponent(this.#options.workerId);
    const job = encodeURIComponent(jobId);
    const query = new URLSearchParams({ attempt });
    return `/_worker/workers/${worker}/jobs/${job}/files/${encodedFileName(name)}?${query}`;
  }

  #send(
    method: string,
    path: string,
    signal: AbortSignal,
    upload: Upload | undefined,
  ): Promise<IncomingMessage> {
    const { url, token, workerId } = this.#options;
    const base = new URL(url);
    const request = base.protocol === 'https:' ? requestHttps : requestHttp;
    const options = {
      // A name in brackets is an IPv6 address, which Node wants without them.
      hostname: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port,
      method,
      path: base.pathname.replace(/\/+$/, '') + path,
      agent: this.#agent,
      signal,
      headers: {
        'X-Worker-ID': workerId,
        ...(token === undefined ? {} : { 'X-Worker-Token': token }),
        ...(upload === undefined ? {} : uploadHeaders(upload)),
      },
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(options, resolve);
      outgoing.on('error', (cause) => reject(unreachable(base.origin, cause)));
      if (upload === undefined) outgoing.end();
      // An early refusal comes before all is sent, and counts; otherwise the request says why.
      else pipeline(upload.open(), outgoing).catch((cause: unknown) => reject(cause));
    });
  }
}

function uploadHeaders({ size }: Upload): Record<string, string | number> {
  return { 'Content-Type': 'application/octet-stream', 'Content-Length': size };
}

/** Ids of workers have no dot, so that the folders of no other one match. */
function ownFolder(workerId: string): string {
  const prefix = `capataz-files-${workerId}.`;
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(tmpdir(), name);
    if (isOurs(folder)) rmSync(folder, { recursive: true, force: true });
  }
  return mkdtempSync(join(tmpdir(), prefix));
}

/** Everybody may put something into the folder for what is temporary. */
function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}

async function shortText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Node's IncomingMessage gives buffers where no encoding was set.
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxAnswerBytes) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function refusal(status: number, text: string): CapatazError {
  const { code, error, details } = bodyOf(text);
  const isKnown = code !== undefined && Object.hasOwn(errorCatalogue, code);
  const byStatus = status >= 500 ? 'UNREACHABLE' : 'MALFORMED_REQUEST';
  return new CapatazError(
    isKnown ? code : byStatus,
    error ?? `the server answered ${status}`,
    details,
  );
}

function bodyOf(text: string): Partial<ErrorBody> {
  try {
    const body: unknown = JSON.parse(text);
    // Its code is checked against the catalogue, and the rest is only shown.
    return typeof body === 'object' && body !== null ? (body as Partial<ErrorBody>) : {};
  } catch {
    return {};
  }
}

function unreachable(origin: string, cause: Error): CapatazError {
  const message = `${origin} does not answer: ${cause.message}`;
  return new CapatazError('UNREACHABLE', message, undefined, cause);
}
