import type { Bus, BusCodec } from '../bus/contract.ts';
import type { SubscriberOptions } from '../bus/subscriber.ts';
import type { Client } from '../client/index.ts';
import type { SettingDeclarations, SettingValues } from '../config/setting.ts';
import type { Config } from '../config/settings.ts';
import type { Blueprint } from '../core/blueprint.ts';
import type { FeedOptions } from '../engine/feed.ts';
import type { Route } from '../server/route.ts';
import type { Clock } from '../std/clock.ts';
import type { Duration } from '../std/duration.ts';
import type { Log } from '../std/log.ts';

/** Data stores by name. */
export type Stores = Readonly<Record<string, unknown>>;

/** What there is before anything of the application is made. */
export interface Setup<D extends SettingDeclarations = SettingDeclarations> {
  readonly config: Config;
  /** The application's own settings. */
  readonly settings: SettingValues<D>;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the application's own parts work with. */
export interface Surroundings<
  D extends SettingDeclarations = SettingDeclarations,
  S extends Stores = Stores,
> extends Setup<D> {
  readonly stores: S;
  /** Null where there is none: neither in the composition nor configured, and no subscriptions. */
  readonly bus: Bus | null;
  /**
   * A client of this very server, once it listens, that needs no token: jobs, signals, files and
   * the rest as `capataz/client` has them. Clients see their own jobs only, so name the one that is
   * meant, as in `client(request.client.name)`. Default: `dev` in open mode, else the application.
   */
  client(name?: string): Client;
}

/** A server that was composed, with everything behind it. */
export interface RunningServer<
  D extends SettingDeclarations = SettingDeclarations,
  S extends Stores = Stores,
> extends Surroundings<D, S> {
  readonly url: string;
  readonly blueprints: readonly Blueprint[];
  /** Who needs no token: nobody, clients, workers. */
  readonly openTo: readonly string[];
  /** Takes nothing new, lets what runs end within the configured drain time, frees the store. */
  stop(): Promise<void>;
}

/** Something, or how it is made once there is what it is made from. */
export type Made<T, From> = T | ((from: From) => T | Promise<T>);

/** Work of the application that comes round again and again as long as the server runs. */
export interface ScheduleDefinition<Server = RunningServer> {
  /** For the log; unique among the schedules. */
  readonly name: string;
  readonly every: Duration;
  /**
   * What the time is counted from: the `start` of the last run (default; one that took longer is
   * followed at once by the next) or its `end`. There is never more than one run at a time.
   */
  readonly from?: 'start' | 'end';
  /** The first run begins with the server. Default: after `every`. */
  readonly atStart?: boolean;
  /**
   * A run that throws is logged, and the next one comes. The signal aborts when the server stops,
   * which then waits for the run at most its drain time.
   */
  readonly run: (server: Server, options: { readonly signal: AbortSignal }) => Promise<void> | void;
}

/** The parts of an application that a server is composed of. */
export interface Composition<
  D extends SettingDeclarations = SettingDeclarations,
  S extends Stores = Stores,
> {
  /** Beside those of the blueprints folder. */
  readonly blueprints?: Made<readonly Blueprint[], Setup<D>>;
  /** Reachable as `job.stores` in every blueprint's handlers; the blueprint's own go before. */
  readonly stores?: Made<S, Setup<D>>;
  /**
   * Where that goes which jobs emit; the server closes it when nothing of it runs any more. Default:
   * the broker of the setting `bus_url`; without one, a bus in this process for the subscriptions
   * that there are; without any, none, and events rest in the outbox until a start with one.
   */
  readonly bus?: Made<Bus, Setup<D>>;
  /** How events look on the wire of a bus that the server makes itself. Default `envelopeCodec`. */
  readonly codec?: BusCodec;
  /** Handled from when the server is ready until it stops. One without a clock or a log gets ours. */
  readonly subscriptions?: Made<
    readonly SubscriberOptions[],
    Surroundings<D, S> & { readonly bus: Bus }
  >;
  readonly schedules?: Made<readonly ScheduleDefinition<RunningServer<D, S>>[], Surroundings<D, S>>;
  /** The book of all jobs, delivered to the application's own tables. */
  readonly feeds?: Made<readonly FeedOptions[], Surroundings<D, S>>;
  /**
   * Under any path that is not ours, and in the OpenAPI document. They answer 503 until the server
   * is ready, but for those below `/_public/`.
   */
  readonly routes?: Made<readonly Route[], Surroundings<D, S>>;
  /** When the server is ready, before it says so. */
  readonly onStart?: (server: RunningServer<D, S>) => Promise<void> | void;
  /** When nothing of the server runs any more, also after a start that failed: close the stores here. */
  readonly onStop?: (surroundings: Surroundings<D, S>) => Promise<void> | void;
}

export function made<T, From>(what: Made<T, From>, from: From): T | Promise<T> {
  // None of the types that are made are functions.
  return typeof what === 'function' ? (what as (from: From) => T | Promise<T>)(from) : what;
}
