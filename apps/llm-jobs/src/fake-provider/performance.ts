import type { ServerResponse } from 'node:http';
import { type Clock, delay } from 'capataz/server';
import type { MeterEntry } from './meter.ts';
import type { Behaviour } from './script.ts';
import { chunksOf, type FakeRequest, type Reply, type Wire } from './wire.ts';

/** One request on the stage. */
export interface Scene {
  readonly request: FakeRequest;
  readonly wire: Wire;
  readonly behaviour: Behaviour;
  readonly reply: Reply;
  readonly entry: MeterEntry;
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** Aborts when the caller has gone. */
  readonly gone: AbortSignal;
}

/** Does to a request what its behaviour says. */
export async function perform(scene: Scene): Promise<void> {
  const { behaviour, response } = scene;
  switch (behaviour.kind) {
    case 'answer':
      await pause(scene, behaviour.delayMs);
      return answer(scene, behaviour.chunkDelayMs);
    case 'status':
      return refuse(scene, behaviour);
    case 'silence':
      return;
    case 'reset':
      response.destroy();
      return;
    case 'cut':
      return cut(scene, behaviour);
    case 'garbled':
      return garble(scene);
    case 'overloaded':
      return overload(scene);
  }
}

async function answer(scene: Scene, chunkDelayMs: number): Promise<void> {
  const { request, wire, reply, response, gone } = scene;
  if (gone.aborted) return;
  if (!request.isStreamed) return send(scene, 200, JSON.stringify(wire.whole(request, reply)));
  startStream(scene);
  response.write(wire.head(request, reply));
  for (const text of chunksOf(reply.text)) {
    await pause(scene, chunkDelayMs);
    if (gone.aborted) return;
    response.write(wire.chunk(request, reply, text));
  }
  response.end(wire.tail(request, reply));
}

function refuse(scene: Scene, behaviour: Extract<Behaviour, { kind: 'status' }>): void {
  const { status, retryAfter, retryAfterAs, message, code = null } = behaviour;
  const { response, clock, wire } = scene;
  if (retryAfter !== undefined) {
    const date = new Date(clock.now() + retryAfter * 1_000).toUTCString();
    response.setHeader('retry-after', retryAfterAs === 'date' ? date : String(retryAfter));
  }
  send(scene, status, JSON.stringify(wire.error({ type: typeOf(status), message, code })));
}

async function cut(
  scene: Scene,
  { afterChunks, clean }: Extract<Behaviour, { kind: 'cut' }>,
): Promise<void> {
  const { request, wire, reply, response } = scene;
  if (request.isStreamed) {
    startStream(scene);
    await written(response, beginning(scene, afterChunks));
  } else {
    const body = JSON.stringify(wire.whole(request, reply));
    head(scene, 200, 'application/json').setHeader('content-length', Buffer.byteLength(body));
    await written(response, body.slice(0, body.length / 2));
  }
  if (clean && request.isStreamed) response.end();
  else response.destroy();
}

function garble(scene: Scene): void {
  const { request, wire, reply, response } = scene;
  if (!request.isStreamed) return send(scene, 200, '{"id":"1","content":[{"type":');
  startStream(scene);
  response.end(`${beginning(scene, 1)}data: {"oops":\n\n${wire.tail(request, reply)}`);
}

function overload(scene: Scene): void {
  const { request, wire, response } = scene;
  const error = { type: 'overloaded_error', message: 'Overloaded', code: null };
  if (!request.isStreamed) return send(scene, 529, JSON.stringify(wire.error(error)));
  startStream(scene);
  response.end(beginning(scene, 1) + wire.errorEvent(error));
}

function beginning({ request, wire, reply }: Scene, chunks: number): string {
  const texts = chunksOf(reply.text).slice(0, chunks);
  return wire.head(request, reply) + texts.map((text) => wire.chunk(request, reply, text)).join('');
}

function send(scene: Scene, status: number, body: string): void {
  head(scene, status, 'application/json').end(body);
}

function startStream(scene: Scene): void {
  head(scene, 200, 'text/event-stream').flushHeaders();
}

function head({ entry, response, wire, reply, clock }: Scene, status: number, type: string) {
  entry.status = status;
  response.statusCode = status;
  response.setHeader('content-type', type);
  response.setHeader(wire.idHeader, `req_${reply.id}`);
  // Node would write the machine's time.
  response.setHeader('date', new Date(clock.now()).toUTCString());
  return response;
}

/** A virtual clock that nobody moves would not even pass zero. */
async function pause({ clock, gone }: Scene, ms: number): Promise<void> {
  if (ms > 0) await delay(clock, ms, gone);
}

function written(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => response.write(text, () => resolve()));
}

function typeOf(status: number): string {
  const types: Readonly<Record<number, string>> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  };
  return types[status] ?? 'api_error';
}
