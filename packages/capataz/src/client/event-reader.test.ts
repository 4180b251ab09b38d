import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ReceivedEvent, readEvents } from './event-reader.ts';

async function* pieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

async function readAll(text: string, sizes: readonly number[] = []): Promise<ReceivedEvent[]> {
  const events: ReceivedEvent[] = [];
  const bytes = new TextEncoder().encode(text);
  for await (const event of readEvents(pieces(bytes, sizes), () => {})) events.push(event);
  return events;
}

const stream = ': alive\n\nid: 1\ndata: {"ä":1}\n\nevent: progress\ndata: a\ndata: b\n\nid: 7\n\n';
const expected: ReceivedEvent[] = [
  { id: '1', name: 'message', data: '{"ä":1}' },
  { id: undefined, name: 'progress', data: 'a\nb' },
  { id: '7', name: 'message', data: '' },
];

test('events come out the same however the bytes are cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 20 })), async (sizes) => {
      assert.deepEqual(await readAll(stream, sizes), expected);
    }),
  );
});

test('carriage returns end lines too, and an unfinished event is dropped', async () => {
  assert.deepEqual(await readAll(stream.replaceAll('\n', '\r\n')), expected);
  assert.deepEqual(await readAll('data: x\n\ndata: unfinished'), [
    { id: undefined, name: 'message', data: 'x' },
  ]);
});
