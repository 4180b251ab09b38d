import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../config/load.ts';
import { defaultRelay } from '../engine/relay.ts';
import { defaultSettings } from '../engine/settings.ts';
import { defaultTimeoutMonitor } from '../engine/timeout-monitor.ts';
import { engineOptions } from './engine-options.ts';

function optionsOf(environment: Readonly<Record<string, string>>) {
  const sources = { flags: {}, environment, directory: import.meta.dirname };
  return engineOptions(loadConfig(sources).values);
}

test('H-13 H-u what is not configured is as the engine has it by itself', () => {
  const { settings, relay, timeoutMonitor } = optionsOf({});
  assert.deepEqual(settings, defaultSettings);
  assert.deepEqual(relay, defaultRelay);
  assert.deepEqual(timeoutMonitor, defaultTimeoutMonitor);
});

test('H-13 H-u every figure of the timeout monitor and of the relay can be configured', () => {
  const { relay, timeoutMonitor } = optionsOf({
    CAPATAZ_TIMEOUT_MONITOR: 'false',
    CAPATAZ_ASSIGNED_TIMEOUT: '1m',
    CAPATAZ_SCHEDULED_TIMEOUT: '2m',
    CAPATAZ_TIMEOUT_CHECK_INTERVAL: '3s',
    CAPATAZ_TIMEOUT_BATCH_SIZE: '4',
    CAPATAZ_OUTBOX_MAX_RETRIES: '0',
    CAPATAZ_OUTBOX_RETRY_BASE: '1s',
    CAPATAZ_OUTBOX_RETRY_CAP: '5s',
  });
  assert.deepEqual(relay, { maxRetries: 0, baseMs: 1_000, capMs: 5_000 });
  assert.deepEqual(timeoutMonitor, {
    enabled: false,
    assignedTimeoutMs: 60_000,
    scheduledTimeoutMs: 120_000,
    checkIntervalMs: 3_000,
    batchSize: 4,
  });
});
