import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from 'capataz/server';
import { delay } from 'capataz/server';
import { adminAnswer } from './admin.ts';
import type { FakeReply } from './calls.ts';
import type { FakeControlRoom } from './fake-control-room.ts';

export interface FakeServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface FakeServerOptions {
  readonly clock: Clock;
  /** Default: any free one. */
  readonly port?: number;
}

/** The fake over sockets. What lies under `/_fake/` is for tests: see admin.ts. */
export async function serveFake(
  fake: FakeControlRoom,
  { clock, port = 0 }: FakeServerOptions,
): Promise<FakeServer> {
  const server = createServer((request, response) => {
    serve(fake, clock, request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  // A server that listens on a port has an address of this shape.
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  fake: FakeControlRoom,
  clock: Clock,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname: path } = new URL(request.url ?? '/', 'http://fake');
  const method = request.method ?? 'GET';
  const body = await textOf(request);
  if (path.startsWith('/_fake/')) {
    const { status, body: answer } = adminAnswer(fake, { method, path, body });
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
    return;
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  await write(await fake.handle({ method, path, headers, body }), clock, response);
}

async function write(reply: FakeReply, clock: Clock, response: ServerResponse): Promise<void> {
  if (reply.type === 'reset') {
    response.destroy();
    return;
  }
  response.writeHead(reply.status, reply.headers);
  if (reply.bodyDelayMs > 0) {
    response.flushHeaders();
    await delay(clock, reply.bodyDelayMs);
  }
  response.end(reply.text);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  // Without an encoding, a request gives buffers.
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
