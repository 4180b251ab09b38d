import type { JsonObject, JsonValue } from '../std/json.ts';
import type { JobView } from './client-api.ts';

/** What people and programs tell jobs, on the client's wire. */

/** `POST /api/v1/jobs/{id}/signals`. */
export interface SignalBody {
  readonly name: string;
  /** The sender's own: the same one again changes nothing. Default: a new one. */
  readonly id?: string;
  /** Default null. */
  readonly data?: JsonValue;
}

export interface SignalAnswer {
  readonly status: 'accepted';
  /** As it was given, or as it was made. */
  readonly id: string;
}

/** `POST /api/v1/signals`: up to 1,000, each to a job or to whoever has registered a key. */
export type SignalsBody = readonly AddressedSignal[];

export interface AddressedSignal extends SignalBody {
  readonly job_id?: string;
  readonly key?: string;
  /** Seconds that it is kept if nobody has registered the key yet. Default 0: it is refused. */
  readonly keep_for?: number;
}

/** In the order of the request. */
export type SignalsAnswer = readonly AddressedSignalAnswer[];

export type AddressedSignalAnswer =
  | {
      readonly status: 'accepted' | 'kept';
      readonly id: string;
      /** The jobs that took it; none while it is kept. */
      readonly job_ids: readonly string[];
    }
  | {
      readonly status: 'refused';
      readonly code: string;
      readonly error: string;
      readonly details?: JsonObject;
    };

/** A job that waits for a person. */
export interface ApprovalView {
  readonly job_id: string;
  readonly blueprint: string;
  readonly state: string;
  /** Names this very wait: given with a decision, that one meets no later wait. */
  readonly wait: string;
  readonly message: string;
  /** What is decided on; null: just the message. */
  readonly show: JsonValue;
  /** Of message and content. */
  readonly hash: string;
  /** May stand for the hash. */
  readonly revision: string | null;
  /** The words that a decision may be. */
  readonly decisions: readonly string[];
  /** When the state was entered that asks. */
  readonly since: string;
  /** Nobody has decided for so long that somebody else should look. */
  readonly escalated: boolean;
}

export interface ApprovalsAnswer {
  readonly approvals: readonly ApprovalView[];
  /** Give it as `before` for the next page; null at the end. */
  readonly next: string | null;
}

/** `POST /api/v1/jobs/{id}/approval`. */
export interface DecisionBody {
  readonly decision: string;
  /**
   * The wait that is meant: with it the same decision again is known as such, so that it can also be
   * sent again when its answer was lost. Default: the open one.
   */
  readonly wait?: string;
  /** Of what was shown. It or `revision` is needed where the wait shows content. */
  readonly hash?: string;
  readonly revision?: string;
  readonly comment?: string;
  /** For the handlers. */
  readonly data?: JsonValue;
  /** Who has decided. Default: the client's name. */
  readonly approver?: string;
}

export interface DecisionAnswer {
  /** This very decision was given before. */
  readonly repeated: boolean;
  readonly job: JobView;
}

/** `POST /api/v1/jobs/{id}/approval/link`. */
export interface ApprovalLinkBody {
  /** Seconds. Default: 7 days. */
  readonly expires_in?: number;
}

export interface ApprovalLinkAnswer {
  /** Where it begins with `/`, it stands for one of this server. */
  readonly url: string;
  readonly wait: string;
  readonly expires_at: string;
}
