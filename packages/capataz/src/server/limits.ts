/** What the server lets in. Each has a default that no well-behaved caller meets. */
export interface Limits {
  /** Largest body, in bytes. Default 4 MiB. Above it: 413. */
  readonly bodyBytes: number;
  /** Longest wait of a poll, in ms. Default 60,000; a longer `timeout` is cut to it. */
  readonly pollMs: number;
  /** Tasks a poll and results a post, at most. Default 1,000. */
  readonly batch: number;
  /** Event streams open at once. Default 1,000. Above it: 429. */
  readonly streams: number;
  /** The same of one client. Default 200. */
  readonly streamsPerClient: number;
  /** How long an idle connection stays open, in ms. Default 75,000: longer than clients keep theirs. */
  readonly keepAliveMs: number;
  /** Longest time for a whole request to arrive, in ms. Default 60,000. */
  readonly requestMs: number;
}

export const defaultLimits: Limits = {
  bodyBytes: 4 * 1024 * 1024,
  pollMs: 60_000,
  batch: 1_000,
  streams: 1_000,
  streamsPerClient: 200,
  keepAliveMs: 75_000,
  requestMs: 60_000,
};

/** Jobs in one batch (S-10). */
export const maxBatchJobs = 1_000;
