import type { Socket } from 'node:net';
import type { EnginePorts } from '../engine/ports.ts';
import type { FilesOptions } from '../files/contract.ts';
import type { LinkKey } from '../files/links.ts';
import type { ScheduleView } from '../protocol/schedules-api.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import type { Access } from './access.ts';
import type { Limits } from './limits.ts';
import type { LiveFeed } from './live-feed.ts';
import type { WorkerConnections } from './worker-connections.ts';

/**
 * Connections on which a file comes in. It may take longer than a request has otherwise, as long as
 * it goes on.
 */
export type Uploads = WeakSet<Socket>;

/** What `/metrics` answers. */
export interface MetricsSource {
  /** @throws CapatazError STORE_UNAVAILABLE */
  scrape(accept?: string): Promise<{ readonly text: string; readonly contentType: string }>;
  /** Null: whoever reaches the server may read them. */
  readonly token: string | null;
}

/** The schedules of jobs, as far as a client sees them: those whose jobs are its own. */
export interface SchedulesPort {
  list(client: string): Promise<readonly ScheduleView[]>;
  /** @throws SCHEDULE_NOT_FOUND */
  pause(name: string, client: string): Promise<ScheduleView>;
  /** One that is paused in its file stays so. @throws SCHEDULE_NOT_FOUND */
  resume(name: string, client: string): Promise<ScheduleView>;
}

/** What every route works with. */
export interface ServerContext {
  readonly engine: EnginePorts;
  readonly access: Access;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits: Limits;
  readonly version: string;
  readonly feed: LiveFeed;
  readonly connections: WorkerConnections;
  /** Null: jobs have no files here. */
  readonly files: FilesOptions | null;
  readonly uploads: Uploads;
  /** Null: there are none, nor routes for them. */
  readonly schedules: SchedulesPort | null;
  /** Null: there is no `/metrics`. */
  readonly metrics: MetricsSource | null;
  /** What links for people begin with, without a slash at its end. Null: they are paths. */
  readonly publicUrl: string | null;
  /** Signs links to approvals. */
  readonly linkKey: LinkKey;
  /** Aborted when the server begins to close: waiting polls and open streams end then. */
  readonly closing: AbortSignal;
}
