export type {
  ApprovalWaitView,
  BlueprintView,
  HistoryView,
  JobsAnswer,
  JobView,
  ProgressView,
  WaitView,
  WhyView,
  WorkerView,
} from '../protocol/client-api.ts';
export type { DeadLettersAnswer, DeadLetterView } from '../protocol/dead-letters-api.ts';
export { CapatazError, type ErrorCode } from '../protocol/errors.ts';
export type { FileContent, FileLinkAnswer, FileView, UploadAnswer } from '../protocol/files.ts';
export type {
  SchedulesAnswer,
  ScheduleView,
  SlotOutcome,
  SlotRecordView,
} from '../protocol/schedules-api.ts';
export type {
  ApprovalLinkAnswer,
  ApprovalsAnswer,
  ApprovalView,
  DecisionAnswer,
  SignalAnswer,
} from '../protocol/signals-api.ts';
export type { Approvals, ApprovalsFilter, DecideOptions } from './approvals.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  type GraphOptions,
  type PositionedEvent,
} from './client.ts';
export type { DeadLetters, DeadLettersFilter } from './dead-letters.ts';
export type { DownloadedFile, Files } from './files.ts';
export type {
  BatchItemOptions,
  ConcurrencyOption,
  Jobs,
  JobsFilter,
  StartedJob,
  StartOptions,
  WatchedEvent,
  WatchOptions,
} from './jobs.ts';
export type { Schedules } from './schedules.ts';
export type { SentSignal, Signals, SignalToSend } from './signals.ts';
