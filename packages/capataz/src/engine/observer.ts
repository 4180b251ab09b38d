import type { WorkerStatus } from '../core/status.ts';
import type { OutboxEvent, OutboxVerdict } from '../store/contract.ts';
import type { Committed } from './committer.ts';

/** Told of what this instance does, after it is done; for metrics. It must not throw. */
export interface EngineObserver {
  onCommitted(committed: Committed): void;
  /** Each try to publish an event. */
  onVerdict(event: OutboxEvent, verdict: OutboxVerdict['type'], tookMs: number): void;
  /** It registered, and nobody knew it: it is CREATING, and its further statuses follow. */
  onWorkerCame(worker: string): void;
  /** Each status that it takes. TERMINATED is the last one: it signed off, or was given up as lost. */
  onWorkerStatus(worker: string, status: WorkerStatus): void;
}
