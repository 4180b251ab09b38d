import {
  CapatazError,
  type ErrorBody,
  type ErrorCode,
  errorCatalogue,
  retryAfterMs,
} from '../protocol/errors.ts';
import type { FileContent } from '../protocol/files.ts';
import { type Clock, delay } from '../std/clock.ts';
import { isJsonObject, type JsonObject } from '../std/json.ts';
import { jittered, type Random } from '../std/random.ts';

export interface HttpOptions {
  /** The server's base URL. */
  readonly url: string;
  readonly token: string | undefined;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly random: Random;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: object;
  /** Sent as it is, in place of `body`. */
  readonly content?: FileContent;
  /**
   * `always`: it may be sent again after any failure, since a second time changes nothing more.
   * `refused`: only after an answer that says that nothing was done. Default: `always` for GET,
   * `refused` for others.
   */
  readonly retry?: 'always' | 'refused' | 'never';
}

/** Requests in all, the first included. */
const maxTries = 4;
const firstBackoffMs = 200;
const maxBackoffMs = 5_000;
/** A server that asks for a longer pause is not waited for: its refusal is thrown. */
const maxRetryAfterMs = 10_000;
/** A request without an answer for so long counts as lost. */
const requestTimeoutMs = 30_000;

/** Pause before try `number` (from 1), doubling to 5 s, ±50 %. */
export function backoffMs(number: number, random: Random): number {
  const plainMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (number - 1));
  return jittered(plainMs, 0.5, random);
}

/** Requests with time-out and retries; every failure is a CapatazError. */
export class Http {
  readonly #options: HttpOptions;
  readonly #base: string;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, '');
  }

  /** @throws CapatazError with the server's code, or UNREACHABLE. */
  async json<T>(request: HttpRequest): Promise<T> {
    const text = await this.text(request);
    try {
      // The server's own answer, of the type that its route documents.
      return JSON.parse(text) as T;
    } catch (cause) {
      throw new CapatazError('UNREACHABLE', `${this.#base} answered no JSON`, undefined, cause);
    }
  }

  /** @throws CapatazError with the server's code, or UNREACHABLE. */
  text(request: HttpRequest): Promise<string> {
    return this.#repeated(request, () => this.#once(request));
  }

  /**
   * For bodies of any size, in either direction: no limit of time, and the answer's body is read by
   * the caller. @throws CapatazError with the server's code, or UNREACHABLE.
   */
  transfer(request: HttpRequest, signal?: AbortSignal): Promise<Response> {
    return this.#repeated(request, () => this.open(request, signal), signal);
  }

  /** A path of this server, or a URL of another, as a URL. */
  absolute(url: string): string {
    return url.startsWith('/') ? `${this.#base}${url}` : url;
  }

  async #repeated<T>(
    request: HttpRequest,
    once: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const { clock, random } = this.#options;
    for (let number = 1; ; number += 1) {
      try {
        return await once();
      } catch (error) {
        if (!(error instanceof CapatazError)) throw error;
        const pauseMs = Math.max(backoffMs(number, random), retryAfterMs(error) ?? 0);
        const isWorthIt = mayRepeat(request, error) && pauseMs <= maxRetryAfterMs;
        if (signal?.aborted || !isWorthIt || number === maxTries) throw error;
        await delay(clock, pauseMs, signal);
      }
    }
  }

  /** One try, whose body is read by the caller. @throws CapatazError */
  async open(request: HttpRequest, signal: AbortSignal | undefined): Promise<Response> {
    let response: Response;
    try {
      response = await this.#options.fetch(this.#urlOf(request), {
        method: request.method,
        headers: this.#headersOf(request),
        ...bodyOf(request),
        signal: signal ?? null,
      });
    } catch (cause) {
      throw unreachable(this.#base, cause);
    }
    if (response.ok) return response;
    throw errorOf(response, await response.text().catch(() => ''));
  }

  async #once(request: HttpRequest): Promise<string> {
    const controller = new AbortController();
    const cancel = this.#options.clock.after(requestTimeoutMs, () => controller.abort());
    try {
      const response = await this.open(request, controller.signal);
      return await response.text();
    } catch (error) {
      throw error instanceof CapatazError ? error : unreachable(this.#base, error);
    } finally {
      cancel();
    }
  }

  #urlOf({ path, query = {} }: HttpRequest): string {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(
      given.map(([name, value]): [string, string] => [name, String(value)]),
    );
    return `${this.#base}${path}${given.length === 0 ? '' : `?${search}`}`;
  }

  #headersOf({ headers = {}, body }: HttpRequest): Record<string, string> {
    const all: Record<string, string> = {};
    if (this.#options.token !== undefined) all['X-Client-Token'] = this.#options.token;
    if (body !== undefined) all['Content-Type'] = 'application/json';
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) all[name] = value;
    return all;
  }
}

function bodyOf({ body, content }: HttpRequest): RequestInit {
  if (body !== undefined) return { body: JSON.stringify(body) };
  if (content === undefined) return {};
  if (typeof content === 'string') return { body: content };
  // The standard's types leave out that bytes may lie in shared memory, which fetch takes, too.
  if (content instanceof Uint8Array) return { body: content as Uint8Array<ArrayBuffer> };
  // The standard wants the word with a stream, and the types do not know it yet.
  return { body: ReadableStream.from(content), duplex: 'half' } as RequestInit;
}

function mayRepeat({ method, retry }: HttpRequest, error: CapatazError): boolean {
  if (!error.retryable || retry === 'never') return false;
  const isSafe = (retry ?? (method === 'GET' ? 'always' : 'refused')) === 'always';
  return isSafe || error.code !== 'UNREACHABLE';
}

function unreachable(url: string, cause: unknown): CapatazError {
  const reason = cause instanceof Error ? causeText(cause) : String(cause);
  return new CapatazError(
    'UNREACHABLE',
    `${url} could not be reached: ${reason}`,
    undefined,
    cause,
  );
}

/** fetch says only "fetch failed"; why stands in its cause. */
function causeText(error: Error): string {
  return error.cause instanceof Error && error.cause.message !== ''
    ? error.cause.message
    : error.message;
}

/** The server's refusal. What does not speak our language, a proxy say, is judged by its status. */
function errorOf(response: Response, text: string): CapatazError {
  const { code, error, details } = errorBodyOf(text);
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const allDetails: JsonObject = { ...details };
  if (retryAfter > 0) allDetails.retry_after_ms ??= retryAfter * 1_000;
  return new CapatazError(
    code ?? codeByStatus(response.status),
    error ?? `the server answered ${response.status}`,
    Object.keys(allDetails).length === 0 ? undefined : allDetails,
  );
}

function errorBodyOf(text: string): Partial<ErrorBody> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return {};
  }
  return isJsonObject(body) ? refusalIn(body) : {};
}

/** @returns what the catalogue knows of a refusal in a body. */
export function refusalIn(body: JsonObject): Partial<ErrorBody> {
  return {
    ...(typeof body.code === 'string' && isErrorCode(body.code) ? { code: body.code } : {}),
    ...(typeof body.error === 'string' ? { error: body.error } : {}),
    ...(isJsonObject(body.details) ? { details: body.details } : {}),
  };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

function codeByStatus(status: number): ErrorCode {
  switch (status) {
    case 401:
      return 'UNAUTHORIZED';
    case 403:
      return 'FORBIDDEN';
    case 404:
      return 'NOT_FOUND';
    case 413:
      return 'PAYLOAD_TOO_LARGE';
    case 429:
      return 'LIMIT';
    case 502:
    case 504:
      return 'UNREACHABLE';
    case 503:
      return 'NOT_READY';
    default:
      return status < 500 ? 'MALFORMED_REQUEST' : 'INTERNAL';
  }
}
