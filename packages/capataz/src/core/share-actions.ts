import type { Duration } from '../std/duration.ts';

/** Limited things that an action takes, settles or gives back, in the commit that stores it. */
export interface Shares<S extends string = string> {
  /** A job holds one share of a key: taking it again replaces it. */
  readonly reserve?: readonly ShareRequest[];
  /** What of a share was really used; the rest is free at once, the used part until it expires. */
  readonly settle?: readonly { readonly key: string; readonly amount: number }[];
  readonly release?: readonly string[];
  /**
   * Where a share is not to be had: `queue` waits for it and runs the handler again, `fail` ends the
   * job, a state takes over. Default `queue`.
   */
  readonly onLimit?: 'queue' | 'fail' | { readonly to: S };
  /** Correlation keys by which signals can find the job from now on. */
  readonly keys?: readonly string[];
}

export interface ShareRequest {
  readonly key: string;
  /** Default 1. */
  readonly amount?: number;
  readonly limit: number;
  /** It is free again after this time, whatever happens. Default: not before the job has ended. */
  readonly expiresAfter?: Duration;
  /** `wait`: it is free when the wait that the action begins has ended. Default `job`. */
  readonly until?: 'job' | 'wait';
}

/** Any action may hold something. */
export interface MayHold<S extends string = string> {
  readonly shares?: Shares<S>;
}

/** The action, which also takes, settles or gives back shares, or registers correlation keys. */
export function holding<A extends object, const S extends string = never>(
  action: A,
  shares: Shares<S>,
): A & MayHold<S> {
  return { ...action, shares };
}
