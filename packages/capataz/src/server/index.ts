export type { ClientEntry, WorkerEntry } from '../config/access-files.ts';
export {
  type Access,
  type AccessEntries,
  createAccess,
  developmentClient,
} from './access.ts';
export { createHttpServer, type HttpServer, type HttpServerOptions } from './http-server.ts';
export { defaultLimits, type Limits } from './limits.ts';
export { createLog, type LogOptions } from './log.ts';
