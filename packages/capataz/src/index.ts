/** What a blueprint module needs. Servers, workers and clients have entry points of their own. */
export { type Breaker, breaker, type Permit } from './breaker/breaker.ts';
export { Breakers, type BreakersOptions } from './breaker/breakers.ts';
export type { CircuitState, Verdict } from './breaker/circuit.ts';
export { CircuitOpenError } from './breaker/circuit-open.ts';
export type { BreakerChange, BreakerOptions } from './breaker/options.ts';
export {
  type DispatchOptions,
  dispatch,
  fail,
  finish,
  retry,
  sleep,
  transition,
} from './core/action.ts';
export type { Action } from './core/any-action.ts';
export {
  type Blueprint,
  type BlueprintDefinition,
  blueprint,
  type Row,
  type StateDefinition,
  type Stop,
} from './core/blueprint.ts';
export { type Emission, emit } from './core/emit.ts';
export type { ClientInfo, HandlerJob, RunningJob } from './core/handler.ts';
export type { Answer, BranchResult } from './core/job.ts';
export type { Requirements } from './core/requirements.ts';
export type { RetryOptions } from './core/retry.ts';
export { holding, type ShareRequest, type Shares } from './core/share-actions.ts';
export {
  type ApprovalOptions,
  approval,
  type ChildOptions,
  child,
  parallel,
  refuse,
  type StayOptions,
  stay,
  type WaitForOptions,
  waitFor,
} from './core/wait-actions.ts';
export { CapatazError, type ErrorCode } from './protocol/errors.ts';
export type { FileContent, TaskFiles, UploadAnswer } from './protocol/files.ts';
export { type Blackout, type BlackoutDefinition, blackout } from './schedule/blackout.ts';
export type { IntervalRule, Rule, Times } from './schedule/rule.ts';
export { RuleError } from './schedule/rule-error.ts';
export { type Slots, slots } from './schedule/slots.ts';
export type { Weekday } from './schedule/wall-time.ts';
export { type Duration, durationMs } from './std/duration.ts';
export type { JsonObject, JsonValue } from './std/json.ts';
