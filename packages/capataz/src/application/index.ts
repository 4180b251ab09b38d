/** What composes a server, and the parts that it is composed of. */
export type {
  ApplicationCommand,
  ClientCommandContext,
  CommandContext,
} from '../cli/application.ts';
export { UsageError } from '../cli/exit.ts';
export { oneLine, plainText } from '../cli/output.ts';
export type {
  Composition,
  Made,
  RunningServer,
  ScheduleDefinition,
  Setup,
  Stores,
  Surroundings,
} from '../compose/composition.ts';
export type { ClientEntry, WorkerEntry } from '../config/access-files.ts';
export type { Setting, SettingDeclarations, SettingValues } from '../config/setting.ts';
export type { Config } from '../config/settings.ts';
export type { StoredEntry } from '../core/history.ts';
export type { FeedOptions } from '../engine/feed.ts';
export {
  type Access,
  type AccessEntries,
  createAccess,
  developmentClient,
} from '../server/access.ts';
export {
  createHttpServer,
  type HttpServer,
  type HttpServerOptions,
} from '../server/http-server.ts';
export { defaultLimits, type Limits } from '../server/limits.ts';
export { createLog, type LogOptions } from '../server/log.ts';
export { check } from '../server/parse/check.ts';
export {
  type Answer,
  type Call,
  noContent,
  ok,
  param,
  type Route,
  type Upgrade,
} from '../server/route.ts';
export { clientOf } from '../server/routes/client-of.ts';
export { refuseForeignPages } from '../server/routes/socket.ts';
export { type Clock, delay, systemClock } from '../std/clock.ts';
export type { Log } from '../std/log.ts';
export type { JobEvent } from '../store/contract.ts';
export { createServer, type Server, type StartOptions } from './create-server.ts';
export type { ServerOptions } from './options.ts';
