/**
 * `npm run serve [-- --port 8081]`: a real inference engine behind OpenAI's wire, on loopback. The wire
 * is the fake provider's; the answers, their tokens and their pace are llama.cpp's.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { openAiWire } from '../src/fake-provider/openai-wire.ts';
import type { FakeRequest, Reply } from '../src/fake-provider/wire.ts';
import { type Completion, contextTokens, startEngine } from './engine.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '8081' } } });
const folder = mkdtempSync(join(tmpdir(), 'capataz-local-model-'));
const engine = await startEngine(join(folder, 'tiny.gguf'));
// It is loaded, and no longer needed as a file.
rmSync(folder, { recursive: true });

let count = 0;
const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy();
    else sendJson(response, 400, refusal(String(error)));
  });
});
await once(server.listen(Number(values.port), '127.0.0.1'), 'listening');
console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST' || !request.url?.endsWith(openAiWire.path)) {
    return sendJson(response, 404, refusal(`nothing at ${request.url}`));
  }
  const asked = openAiWire.read(await json(request), request.headers);
  const prompt = `${asked.input}\n`;
  const room = contextTokens - engine.countTokens(prompt) - 1;
  if (room < 1) return sendJson(response, 400, refusal(`more than ${contextTokens} tokens`));
  count += 1;
  response.setHeader(openAiWire.idHeader, `local-${count}`);
  const maxTokens = Math.min(asked.maxTokens, room);
  await answer({ asked, prompt, maxTokens, seed: count }, response);
}

interface Question {
  readonly asked: FakeRequest;
  readonly prompt: string;
  readonly maxTokens: number;
  /** The number of the request, so that a run can be repeated. */
  readonly seed: number;
}

async function answer({ asked, prompt, ...options }: Question, response: ServerResponse) {
  const id = String(options.seed);
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const onText = (text: string): void => {
    if (asked.isStreamed) response.write(openAiWire.chunk(asked, { id }, text));
  };
  if (asked.isStreamed) {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  }
  const completion = await engine.complete(prompt, { ...options, signal: gone.signal, onText });
  const reply = replyOf(id, completion);
  if (asked.isStreamed) response.end(openAiWire.tail(asked, reply));
  else sendJson(response, 200, openAiWire.whole(asked, reply));
}

function replyOf(id: string, { text, finish, inputTokens, outputTokens }: Completion): Reply {
  const usage = { input: inputTokens, output: outputTokens, cacheRead: 0, cacheWrite: 0 };
  return { id, text, finish, usage, reasoning: 0, usageIn: 'last_chunk' };
}

function refusal(message: string): unknown {
  return openAiWire.error({ type: 'invalid_request_error', message, code: null });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function stop(): Promise<void> {
  server.closeAllConnections();
  server.close();
  await engine[Symbol.asyncDispose]();
}
