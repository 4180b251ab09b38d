import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FilesOptions } from '../files/contract.ts';
import { CapatazError } from '../protocol/errors.ts';
import type { Clock } from '../std/clock.ts';
import type { ServerContext } from './context.ts';
import { type Answer, type Call, ok } from './route.ts';

/** Of an upload that is refused so much is still read, so that the caller hears the refusal. */
const mostDrainedBytes = 16 * 1024 * 1024;

export interface Transfer {
  readonly files: FilesOptions;
  readonly jobId: string;
  readonly name: string;
}

/** `confirm` says whether the caller may do this: asked at the start, and again when all is there. */
export async function receiveFile(
  context: ServerContext,
  { request: { raw } }: Call,
  { files, jobId, name, confirm }: Transfer & { readonly confirm: () => Promise<void> },
): Promise<Answer> {
  const { maxBytes, store } = files;
  const { uploads, clock, limits } = context;
  uploads.add(raw.socket);
  try {
    await confirm();
    if (Number(raw.headers['content-length']) > maxBytes) {
      throw new CapatazError('PAYLOAD_TOO_LARGE', `a file has at most ${maxBytes} bytes`);
    }
    const standstill = new CapatazError('MALFORMED_REQUEST', 'the upload stood still for too long');
    const content = watched(
      // Left early it stays open, so that the refusal can still be sent.
      raw.iterator({ destroyOnReturn: false }),
      { clock, limitMs: limits.requestMs, onStandstill: () => raw.destroy(standstill) },
    );
    return ok(await store.put(jobId, name, content, { maxBytes, confirm }));
  } catch (error) {
    drain(raw, context);
    throw error;
  } finally {
    uploads.delete(raw.socket);
  }
}

/** Always as something to be kept, never shown: what a worker stored must not run as a page of ours. */
export async function sendFile(
  { clock, limits }: ServerContext,
  { reply }: Call,
  { files, jobId, name }: Transfer,
): Promise<Answer> {
  const { size, content } = await files.store.get(jobId, name);
  const close = (): unknown => content.destroy();
  reply.raw.once('close', close);
  if (reply.raw.destroyed) {
    close();
    reply.hijack();
    return { status: 'streaming' };
  }
  const kept = name.slice(name.lastIndexOf('/') + 1);
  reply.headers({
    'Content-Type': 'application/octet-stream',
    'Content-Length': size,
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(kept)}`,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'private, no-store',
  });
  const onStandstill = (): unknown => reply.raw.destroy();
  const watching = watched(content, { clock, limitMs: limits.requestMs, onStandstill });
  reply.send(Readable.from(watching, { objectMode: false }));
  return { status: 'streaming' };
}

interface Watch {
  readonly clock: Clock;
  readonly limitMs: number;
  readonly onStandstill: () => unknown;
}

/** A transfer that stands still would hold one of the few slots for ever. */
async function* watched(
  content: AsyncIterable<Uint8Array>,
  { clock, limitMs, onStandstill }: Watch,
): AsyncGenerator<Uint8Array> {
  let cancel = clock.after(limitMs, onStandstill);
  try {
    for await (const chunk of content) {
      cancel();
      cancel = clock.after(limitMs, onStandstill);
      yield chunk;
    }
  } finally {
    cancel();
  }
}

/** Reads on for a while. A connection that is cut at once can take the answer with it. */
function drain(raw: IncomingMessage, { clock, limits }: ServerContext): void {
  if (raw.complete || raw.destroyed) return;
  const cancel = clock.after(limits.requestMs, () => raw.destroy());
  let left = mostDrainedBytes;
  raw.once('close', cancel);
  raw.on('error', () => undefined);
  raw.on('data', (chunk: Uint8Array) => {
    left -= chunk.length;
    if (left < 0) raw.destroy();
  });
}
