export {
  type Access,
  type AccessEntries,
  type ClientEntry,
  createAccess,
  developmentClient,
  type WorkerEntry,
} from './access.ts';
export { createHttpServer, type HttpServer, type HttpServerOptions } from './http-server.ts';
export { defaultLimits, type Limits } from './limits.ts';
export { createLog, type LogOptions } from './log.ts';
