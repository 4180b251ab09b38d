import { CapatazError } from 'capataz';
import type { Clock, Log } from 'capataz/server';

const pauseMs = 2_000;

/**
 * An outage of our own store is not the event's fault: it waits, unacknowledged, instead of using up
 * its tries and becoming a dead letter. @throws what is no outage, or the outage once it is aborted
 */
export async function whileUnavailable<T>(
  work: () => Promise<T>,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CapatazError) || !error.retryable || signal.aborted) throw error;
      log.warn('the orchestrator can’t take an event now', { error });
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
    }
  }
}
