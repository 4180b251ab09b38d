import type { Offer } from './requirements.ts';
import type { WorkerStatus } from './status.ts';

/** A performer that pulls tasks, as it registered last. */
export interface WorkerRecord {
  readonly id: string;
  readonly type: string;
  /** Made anew at each registration; attempts of an earlier one are judged by the boot id. */
  readonly incarnation: string;
  /** Names the worker's process, where it tells. */
  readonly bootId: string | null;
  readonly status: WorkerStatus;
  readonly offer: Offer;
  /** Tasks that it runs at once; null for an RXON worker that does not say. */
  readonly slots: number | null;
  /** It asked for the batch form of polls and results (S-40). */
  readonly batch: boolean;
  readonly heartbeatMs: number;
  readonly hostname: string | null;
  readonly registeredAt: number;
}

/** Three heartbeats without a sign of life (S-23). */
export function silenceMs(worker: WorkerRecord): number {
  return 3 * worker.heartbeatMs;
}
