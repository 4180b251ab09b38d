import { delay, systemClock } from '../../packages/capataz/src/std/clock.ts';

const lookEveryMs = 100;
const answerLimitMs = 2_000;

export interface Reply {
  /** 0 where no answer came in time. */
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
}

/** Asks as a probe of an orchestrator of containers does: with patience that ends. */
export async function ask(
  url: string,
  init: RequestInit = {},
  limitMs = answerLimitMs,
): Promise<Reply> {
  const abort = new AbortController();
  const cancel = systemClock.after(limitMs, () => abort.abort());
  try {
    const response = await fetch(url, { ...init, signal: abort.signal });
    const body = await response.text();
    return { status: response.status, retryAfter: response.headers.get('retry-after'), body };
  } catch {
    return { status: 0, retryAfter: null, body: '' };
  } finally {
    cancel();
  }
}

/** Whether these say all the time that they live. */
export class Watch {
  readonly #failures: string[] = [];
  readonly #stopping = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(urls: readonly string[]) {
    this.#running = Promise.all(urls.map((url) => this.#look(url)));
  }

  /** @returns what was wrong meanwhile. */
  async stop(): Promise<readonly string[]> {
    this.#stopping.abort();
    await this.#running;
    return this.#failures;
  }

  async #look(url: string): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const { status } = await ask(`${url}/_public/health`);
      if (status !== 200) this.#failures.push(`${url} said ${status} when asked for its health`);
      await delay(systemClock, lookEveryMs, this.#stopping.signal);
    }
  }
}
