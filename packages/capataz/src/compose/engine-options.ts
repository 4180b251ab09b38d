import { hostname } from 'node:os';
import type { Config } from '../config/settings.ts';
import type { EngineOptions } from '../engine/engine.ts';

/** What the configuration says about the engine. */
export function engineOptions(
  config: Config,
): Pick<EngineOptions, 'instance' | 'settings' | 'relay' | 'timeoutMonitor'> {
  return {
    instance: config.instance ?? `${hostname()}-${process.pid}`,
    settings: {
      maxTransitions: config.maxTransitions,
      maxHandlers: config.maxHandlers,
      leaseMs: config.handlerLease,
      checkEveryMs: config.checkEvery,
      orphanAfterMs: config.orphanAfter,
      retentionAgeMs: config.retentionAge,
      retentionCount: config.retentionCount,
    },
    relay: {
      maxRetries: config.outboxMaxRetries,
      baseMs: config.outboxRetryBase,
      capMs: config.outboxRetryCap,
    },
    timeoutMonitor: {
      enabled: config.timeoutMonitor,
      assignedTimeoutMs: config.assignedTimeout,
      scheduledTimeoutMs: config.scheduledTimeout,
      checkIntervalMs: config.timeoutCheckInterval,
      batchSize: config.timeoutBatchSize,
    },
  };
}
