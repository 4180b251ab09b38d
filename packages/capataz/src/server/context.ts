import type { EnginePorts } from '../engine/ports.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Access } from './access.ts';
import type { Limits } from './limits.ts';
import type { LiveFeed } from './live-feed.ts';
import type { WorkerConnections } from './worker-connections.ts';
import type { WorkerForms } from './worker-forms.ts';

/** What every route works with. */
export interface ServerContext {
  readonly engine: EnginePorts;
  readonly access: Access;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Limits;
  readonly version: string;
  readonly feed: LiveFeed;
  readonly connections: WorkerConnections;
  readonly forms: WorkerForms;
  /** Aborted when the server begins to close: waiting polls and open streams end then. */
  readonly closing: AbortSignal;
}
