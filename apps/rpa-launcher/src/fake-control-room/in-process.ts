import { type Clock, delay } from 'capataz/server';
import {
  type HttpAnswer,
  type HttpCall,
  type Transport,
  TransportError,
} from '../control-room/transport.ts';
import type { FakeControlRoom } from './fake-control-room.ts';

/** Where a fake in process is reached; only paths count. */
export const inProcessUrl = 'https://control-room.invalid';

/** Calls that go to the fake without sockets, so that a virtual clock can move all of it. */
export function inProcessTransport(fake: FakeControlRoom, clock: Clock): Transport {
  return {
    call: ({ timeoutMs, ...call }) =>
      new Promise((resolve, reject) => {
        if (fake.isDown) return reject(new TransportError('connection refused', false));
        const late = new TransportError(`no answer within ${timeoutMs} ms`, true);
        const cancel = clock.after(timeoutMs, () => reject(late));
        answered(fake, call, clock).then(resolve, reject).finally(cancel);
      }),
    close: async () => {},
  };
}

async function answered(
  fake: FakeControlRoom,
  { url, headers, body }: Omit<HttpCall, 'timeoutMs'>,
  clock: Clock,
): Promise<HttpAnswer> {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const reply = await fake.handle({
    method: 'POST',
    path: new URL(url).pathname,
    headers: Object.fromEntries(lower),
    body,
  });
  if (reply.type === 'reset') throw new TransportError('the connection was reset', true);
  if (reply.bodyDelayMs > 0) await delay(clock, reply.bodyDelayMs);
  return { status: reply.status, headers: reply.headers, text: reply.text };
}
