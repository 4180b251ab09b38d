/** Writing workers: `createWorker` and what its handlers use. */
export type { FileContent, TaskFiles, UploadAnswer } from '../protocol/files.ts';
export type { JsonObject, JsonValue } from '../std/json.ts';
export type { Log } from '../std/log.ts';
export { type HttpTransportOptions, httpTransport } from './http-transport.ts';
export type { WorkerOffer, WorkerOptions } from './options.ts';
export {
  InvalidInputError,
  PermanentError,
  result,
  TaskError,
  TransientError,
  WorkerResult,
} from './outcome.ts';
export type { Handler, HandlerValue, WorkerTask } from './task.ts';
export { type PollQuery, type Transport, TransportError } from './transport.ts';
export { createWorker, type Worker, type WorkerState } from './worker.ts';
