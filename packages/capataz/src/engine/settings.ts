/** What can be tuned in an engine. All lengths in ms. */
export interface EngineSettings {
  /** Transitions without a wait before a job fails as an endless loop. Default 100. */
  readonly maxTransitions: number;
  /** `run` handlers at once on this instance; further ones wait their turn. Default 1000. */
  readonly maxHandlers: number;
  /** Life of a handler's lease: how soon another instance takes over. Default 10 s. */
  readonly leaseMs: number;
  /** Between two slices of the no-limbo check. Default 60 s. */
  readonly checkEveryMs: number;
  /** How long a blueprint version may be offered by nobody before its jobs are parked. Default 10 min. */
  readonly orphanAfterMs: number;
  /** How long ended jobs are kept; 0: age is no reason to forget one. Default 30 days. */
  readonly retentionAgeMs: number;
  /** How many ended jobs are kept; 0: as many as there are. Default 1,000,000. */
  readonly retentionCount: number;
}

export const defaultSettings: EngineSettings = {
  maxTransitions: 100,
  maxHandlers: 1_000,
  leaseMs: 10_000,
  checkEveryMs: 60_000,
  orphanAfterMs: 600_000,
  retentionAgeMs: 30 * 86_400_000,
  retentionCount: 1_000_000,
};
