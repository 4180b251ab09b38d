import type {
  DispatchAction,
  FailAction,
  FinishAction,
  RetryAction,
  SleepAction,
  TransitionAction,
} from './action.ts';
import type { MayHold } from './share-actions.ts';
import type {
  ApprovalAction,
  ChildAction,
  ParallelAction,
  RefuseAction,
  StayAction,
  WaitForAction,
} from './wait-actions.ts';

/**
 * What a handler returns: plain data, exactly one per call. `S` is the union of the blueprint's
 * state names, so that a misspelt target does not compile.
 */
export type Action<S extends string = string> = MayHold<S> &
  (
    | TransitionAction<S>
    | DispatchAction<S>
    | ParallelAction<S>
    | ApprovalAction<S>
    | ChildAction<S>
    | WaitForAction<S>
    | SleepAction<S>
    | StayAction<S>
    | RefuseAction
    | FinishAction
    | FailAction
    | RetryAction
  );
