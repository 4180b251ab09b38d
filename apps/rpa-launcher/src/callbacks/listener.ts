import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CapatazError } from 'capataz';
import type { Log } from 'capataz/server';
import type { Callbacks } from './callbacks.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly path: string;
  readonly callbacks: Pick<Callbacks, 'take'>;
  readonly log: Log;
}

/** Robots may have much to say; this is enough for all that was seen. */
const maxBodyBytes = 1_048_576;
const requestTimeoutMs = 30_000;

/**
 * Where the Control Room reports. A listener of its own: this address is reached from outside, and the
 * server's API is none of their business.
 */
export class CallbackListener {
  readonly #options: ListenerOptions;
  readonly #server: Server;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#server = createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        options.log.error('a callback could not be taken', { error });
        say(response, 500, { status: 'error', message: 'it could not be stored; send it again' });
      });
    });
  }

  /** @returns its address @throws CapatazError CONFIG_INVALID for one that is taken */
  async listen(): Promise<string> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause: NodeJS.ErrnoException) =>
        reject(
          new CapatazError(
            'CONFIG_INVALID',
            `CALLBACK_SERVER_PORT: ${cause.message}`,
            undefined,
            cause,
          ),
        ),
      );
      this.#server.listen({ host, port }, resolve);
    });
    const address = this.#server.address() as AddressInfo;
    return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0];
    if (request.method === 'GET' && path === '/health') return say(response, 200, { status: 'ok' });
    if (path !== this.#options.path) return say(response, 404, { status: 'not_found' });
    if (request.method !== 'POST') return say(response, 405, { status: 'not_allowed' });
    const body = await bodyOf(request);
    if (body === null) return say(response, 413, { status: 'too_large' });
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, [value].flat()[0]]),
    );
    const answer = await this.#options.callbacks.take({ headers, body });
    say(response, answer.status, answer.body);
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function say(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return;
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}
