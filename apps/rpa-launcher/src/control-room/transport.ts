import type { Clock } from 'capataz/server';
import { Agent, type Dispatcher } from 'undici';

/** One POST: neither the Control Room nor the gateway are asked otherwise. */
export interface HttpCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** What carries calls: sockets, or in simulations the fake itself. */
export interface Transport {
  /** Redirects are answers as any other. @throws TransportError */
  call(call: HttpCall): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/** `isSent`: the other side may have read the call, and may have acted on it. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly isSent: boolean;

  constructor(message: string, isSent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isSent = isSent;
  }
}

export interface HttpTransportOptions {
  readonly clock: Clock;
  /** Default true. */
  readonly verifiesTls?: boolean;
  /** Sockets to one address. Default 32. */
  readonly connections?: number;
}

/** More than any list of ours; what is larger is no Control Room. */
const maxAnswerBytes = 64 * 2 ** 20;
const connectTimeoutMs = 10_000;

export function httpTransport({
  clock,
  verifiesTls = true,
  connections = 32,
}: HttpTransportOptions): Transport {
  const agent = new Agent({
    connections,
    connect: { rejectUnauthorized: verifiesTls, timeout: connectTimeoutMs },
    // One clock measures the whole call, and it is ours.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    async call(call) {
      const abort = new AbortController();
      const timedOut = new TransportError(`no answer within ${call.timeoutMs} ms`, true);
      const cancel = clock.after(call.timeoutMs, () => abort.abort(timedOut));
      try {
        return await send(agent, call, abort.signal);
      } catch (error) {
        throw error === timedOut ? error : asTransportError(error);
      } finally {
        cancel();
      }
    },
    close: () => agent.destroy(),
  };
}

async function send(agent: Agent, call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
  const { origin, pathname, search } = new URL(call.url);
  const { statusCode, headers, body } = await agent.request({
    origin,
    path: `${pathname}${search}`,
    method: 'POST',
    headers: call.headers,
    body: call.body,
    signal,
  });
  return { status: statusCode, headers: flat(headers), text: await readText(body) };
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    // Without an encoding, the stream gives buffers.
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString();
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value ?? '')]);
  return Object.fromEntries(entries);
}

function asTransportError(error: unknown): TransportError {
  const isSent = ![error, ...(error instanceof AggregateError ? error.errors : [])].some(isUnsent);
  const message = error instanceof Error ? error.message || codeOf(error) : String(error);
  return new TransportError(message, isSent, { cause: error });
}

/** Names and connections fail, and certificates are refused, before the first byte of a call can leave. */
function isUnsent(error: unknown): boolean {
  const syscall = error instanceof Error && 'syscall' in error ? error.syscall : null;
  return (
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT' ||
    /^(?:ERR_TLS|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED)/.test(codeOf(error))
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
