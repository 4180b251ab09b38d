/** What a blueprint module needs. Servers, workers and clients have entry points of their own. */
export {
  type Action,
  type DispatchOptions,
  dispatch,
  fail,
  finish,
  retry,
  sleep,
  transition,
} from './core/action.ts';
export {
  type Blueprint,
  type BlueprintDefinition,
  blueprint,
  type StateDefinition,
} from './core/blueprint.ts';
export type { ClientInfo, HandlerJob, RunningJob } from './core/handler.ts';
export type { Requirements } from './core/requirements.ts';
export type { RetryOptions } from './core/retry.ts';
export { CapatazError, type ErrorCode } from './protocol/errors.ts';
export { type Duration, durationMs } from './std/duration.ts';
export type { JsonObject, JsonValue } from './std/json.ts';
