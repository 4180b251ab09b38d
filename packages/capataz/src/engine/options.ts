import type { Blueprint } from '../core/blueprint.ts';
import type { ClientInfo } from '../core/handler.ts';
import type { FilesOptions } from '../files/contract.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { Random } from '../std/random.ts';
import type { Archive, Store } from '../store/contract.ts';
import type { BlackoutCalendar } from './blackout-gate.ts';
import type { CircuitOptions } from './circuits.ts';
import type { EngineObserver } from './observer.ts';
import type { EventSink, RelayOptions } from './relay.ts';
import type { OnForgotten } from './retention.ts';
import type { EngineSettings } from './settings.ts';
import type { TimeoutMonitorOptions } from './timeout-monitor.ts';

export interface EngineOptions {
  readonly store: Store;
  readonly blueprints: readonly Blueprint[];
  readonly clock: Clock;
  readonly random: Random;
  /** Names this process among those that share the store. */
  readonly instance: string;
  /** What handlers and guards see of a client. */
  readonly client: (name: string) => ClientInfo;
  readonly log: Log;
  readonly settings?: Partial<EngineSettings>;
  /**
   * Another database, into which the books of jobs that ended a minute ago are moved; `off`: they are
   * deleted then. Default: they stay in the store.
   */
  readonly archive?: Archive | 'off';
  /** Told of ended jobs that the store has forgotten, so that files of theirs can go, too. */
  readonly onForgotten?: OnForgotten;
  /** Where the files of jobs are kept. Default: jobs have none. */
  readonly files?: FilesOptions;
  /** Where events go. Default: they stay in the outbox until a start with a sink. */
  readonly sink?: EventSink;
  readonly relay?: Partial<RelayOptions>;
  readonly timeoutMonitor?: Partial<TimeoutMonitorOptions>;
  /**
   * For how long a bus subscription has been live, ms; null: there is none of this name. Default: all
   * have been for ever.
   */
  readonly liveForMs?: (subscription: string) => number | null;
  /** What a dispatch may name as `notDuring`. Default: there is none. */
  readonly blackouts?: BlackoutCalendar;
  /** When a worker that keeps losing tasks is left alone. Default: as any breaker. */
  readonly circuits?: CircuitOptions;
  readonly observer?: EngineObserver;
}
