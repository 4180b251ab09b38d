import type { Output } from './output.ts';

/**
 * `fetch`, which says when the connection of an event stream is lost and when it is back: the client
 * opens it again by itself, and a watcher would only see that nothing happens.
 */
export function liveFetch(stderr: Output, fetchOnce: typeof fetch = fetch): typeof fetch {
  let isLost = false;
  const lost = (url: string, reason: string): void => {
    if (!isLost)
      stderr.write(`connection to ${new URL(url).origin} lost (${reason}): trying again\n`);
    isLost = true;
  };
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!new URL(url).pathname.endsWith('/events')) return fetchOnce(input, init);
    try {
      const response = await fetchOnce(input, init);
      if (response.status >= 500) lost(url, `it answers ${response.status}`);
      else if (isLost) {
        isLost = false;
        stderr.write('connected again\n');
      }
      return response;
    } catch (error) {
      if (init?.signal?.aborted !== true) lost(url, reasonOf(error));
      throw error;
    }
  };
}

/** fetch says only "fetch failed"; why stands in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
