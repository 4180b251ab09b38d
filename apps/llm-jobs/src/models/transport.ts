import { Agent, buildConnector, fetch } from 'undici';

/** There is no connection, so that the other side saw nothing of the request. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
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
  const send = (place: string | URL, init: object): Promise<unknown> =>
    fetch(place, { ...init, dispatcher: agent, redirect: 'manual' });
  return {
    // The package and Node declare the same standard in types of their own.
    fetch: send as typeof globalThis.fetch,
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}
