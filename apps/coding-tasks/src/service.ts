import type { Bus } from 'capataz/bus';
import type { Clock, Log } from 'capataz/server';

/** Something that runs beside the server from its start to its stop. */
export interface Service {
  start(): void;
  stop(): Promise<void>;
}

/** What a service of this application works with. */
export interface ServiceWorld {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** A new UUID for each event. */
  readonly newId: () => string;
}
