import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from 'capataz/server';
import { z } from 'zod';
import { anthropicWire } from './anthropic-wire.ts';
import { Director } from './director.ts';
import { Meter } from './meter.ts';
import { openAiWire } from './openai-wire.ts';
import { perform } from './performance.ts';
import { countedTokens, replyTo } from './reply.ts';
import { type Script, type ScriptText, script as scriptSchema } from './script.ts';
import type { Wire } from './wire.ts';

export interface FakeProviderOptions {
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default: everything is answered well. */
  readonly script?: ScriptText;
  /** What delays and dates go by. Default: the machine's. */
  readonly clock?: Clock;
}

const wires: readonly Wire[] = [anthropicWire, openAiWire];
const maxBodyBytes = 10_000_000;

/**
 * A provider of language models without a model: it speaks Anthropic's and OpenAI's wire, goes wrong
 * as its script says, and keeps a meter of requests and tokens. On loopback, for tests and demos.
 */
export class FakeProvider implements AsyncDisposable {
  readonly meter = new Meter();
  readonly #clock: Clock;
  readonly #server: Server;
  #director: Director;
  #count = 0;

  private constructor({ script = {}, clock = systemClock }: FakeProviderOptions) {
    this.#clock = clock;
    this.#director = this.#directorOf(scriptSchema.parse(script));
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => sendError(response, error));
    });
  }

  /** @throws ZodError where the script is none */
  static async start(options: FakeProviderOptions = {}): Promise<FakeProvider> {
    const fake = new FakeProvider(options);
    await once(fake.#server.listen(options.port ?? 0, '127.0.0.1'), 'listening');
    return fake;
  }

  /** The base URL of either wire. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/v1`;
  }

  /** From now on it goes by this script, from its beginning. The meter stays. */
  follow(script: ScriptText): void {
    this.#director = this.#directorOf(scriptSchema.parse(script));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  #directorOf(script: Script): Director {
    return new Director(script, this.meter);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://fake').pathname.replace(/^\/v1/, '');
    const wire = wires.find((candidate) => candidate.path === path);
    const body = await bodyOf(request);
    if (request.method === 'POST' && wire !== undefined) {
      return this.#answer({ wire, headers: request.headers, body, response });
    }
    switch (`${request.method} ${path}`) {
      case 'GET /meter':
        return sendJson(response, 200, { entries: this.meter.entries, total: this.meter.total });
      case 'DELETE /meter':
        this.meter.clear();
        return sendJson(response, 200, {});
      case 'PUT /script':
        this.follow(body as ScriptText);
        return sendJson(response, 200, {});
      default:
        return sendJson(response, 404, { error: { message: `nothing at ${path}` } });
    }
  }

  /** The meter counts when the request arrives: what is generated is charged, arrived or not. */
  async #answer({ wire, headers, body, response }: Arrival): Promise<void> {
    const request = wire.read(body, headers);
    const behaviour = this.#director.behaviourFor(request, this.#clock.now());
    this.#count += 1;
    const reply = replyTo(request, behaviour, String(this.#count));
    const { requestId, model, prompt, isStreamed } = request;
    const entry = {
      ...{ wire: request.wire, requestId, model, prompt, isStreamed },
      at: this.#clock.now(),
      behaviour: behaviour.kind,
      status: null,
      tokens: countedTokens(request, behaviour, reply),
    };
    this.meter.note(entry);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const scene = { request, wire, behaviour, reply, entry, response };
    await perform({ ...scene, clock: this.#clock, gone: gone.signal });
  }
}

interface Arrival {
  readonly wire: Wire;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
  readonly response: ServerResponse;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new SyntaxError('the body is too large');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  return text === '' ? null : JSON.parse(text);
}

/** A body that is no JSON, or not one of the wire, is the caller's fault. In a form that both wires know. */
function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const isCallers = error instanceof SyntaxError || error instanceof z.ZodError;
  const message = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
  const details = { type: isCallers ? 'invalid_request_error' : 'api_error', message, code: null };
  sendJson(response, isCallers ? 400 : 500, { type: 'error', error: details });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
