import { Agent, buildConnector, fetch, Response } from 'undici';

/** There is no connection, so that the other side saw nothing of the request. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
}

/** No answer of a model is that long: 128,000 tokens, each in an event of its own, have half of it. */
const mostBytes = 64 * 2 ** 20;

/** The answer would fill the memory. */
export class AnswerTooLongError extends Error {
  override readonly name = 'AnswerTooLongError';
}

export interface Transport extends AsyncDisposable {
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Node's own fetch over connections of our own: how long connecting may take is set, and a failure to
 * connect can be told from one after the request was sent. How long an answer may take, the caller
 * says by its signal. Redirects are not followed: they would carry the key to another place.
 */
export function createTransport(connectTimeoutMs: number): Transport {
  // One connection for each call in flight: with HTTP/2, a cut one would take its neighbours along.
  const connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false });
  const agent = new Agent({
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) =>
      connect(options, (error, socket) => {
        if (error === null) callback(null, socket);
        else callback(new ConnectError(error.message, { cause: error }), null);
      }),
  });
  const send = async (place: string | URL, init: object): Promise<unknown> =>
    bounded(await fetch(place, { ...init, dispatcher: agent, redirect: 'manual' }));
  return {
    // The package and Node declare the same standard in types of their own.
    fetch: send as typeof globalThis.fetch,
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/** The answer, which breaks off where it would fill the memory; counted is what it is unpacked. */
function bounded(response: Response): Response {
  if (response.body === null) return response;
  let seen = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      seen += chunk.byteLength;
      if (seen <= mostBytes) controller.enqueue(chunk);
      else controller.error(new AnswerTooLongError(`longer than ${mostBytes / 2 ** 20} MiB`));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
}
