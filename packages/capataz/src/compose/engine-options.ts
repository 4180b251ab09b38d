import { hostname } from 'node:os';
import type { Config } from '../config/settings.ts';
import type { EngineOptions } from '../engine/engine.ts';

/** The name of this server among those that share its store. */
export function instanceOf({ instance }: Pick<Config, 'instance'>): string {
  return instance ?? `${hostname()}-${process.pid}`;
}

/** What the configuration says about the engine. */
export function engineOptions(
  config: Config,
): Pick<EngineOptions, 'instance' | 'settings' | 'relay' | 'timeoutMonitor'> {
  return {
    instance: instanceOf(config),
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
