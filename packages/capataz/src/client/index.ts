export type {
  BlueprintView,
  HistoryView,
  JobsAnswer,
  JobView,
  ProgressView,
  WhyView,
  WorkerView,
} from '../protocol/client-api.ts';
export { CapatazError, type ErrorCode } from '../protocol/errors.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  type GraphOptions,
  type PositionedEvent,
} from './client.ts';
export type {
  BatchItemOptions,
  Jobs,
  JobsFilter,
  StartedJob,
  StartOptions,
  WatchedEvent,
  WatchOptions,
} from './jobs.ts';
