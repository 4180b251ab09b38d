import type { Clock } from 'capataz/server';

export interface SilenceWatch {
  /** Aborts after so long without a word. */
  readonly signal: AbortSignal;
  heard(): void;
  stop(): void;
}

/** @param silenceMs undefined: an agent may be silent as long as it likes */
export function silenceWatch(clock: Clock, silenceMs: number | undefined): SilenceWatch {
  const abort = new AbortController();
  let cancel: () => void = () => undefined;
  const heard = (): void => {
    cancel();
    if (silenceMs !== undefined) cancel = clock.after(silenceMs, () => abort.abort());
  };
  heard();
  return { signal: abort.signal, heard, stop: () => cancel() };
}
