import type { HistoryView, JobEventView, ProgressView } from './client-api.ts';
import type { ErrorBody } from './errors.ts';

/**
 * The client's WebSocket, `/api/v1/socket`: what the event streams say, several of them over one
 * connection. Messages are JSON texts.
 */
export const socketProtocol = 'capataz.v1';

/**
 * A browser sets no headers on a WebSocket: there the token is offered as a further protocol, this
 * followed by the token's UTF-8 in base64url without padding. It never stands in the URL, which ends in logs.
 */
export const tokenProtocol = 'capataz.token.';

export type SocketRequest =
  /** `watch` is the caller's own name for it, and stands on all that belongs to it. */
  | {
      readonly type: 'watch';
      readonly watch: string;
      /** Default: all jobs of this client. */
      readonly job?: string;
      /** Only what comes behind it. Default 0: everything. */
      readonly after?: number;
    }
  | { readonly type: 'unwatch'; readonly watch: string };

export type SocketMessage =
  | {
      readonly type: 'entry';
      readonly watch: string;
      /**
       * Give it as `after` to go on behind this entry: its sequence in the job's book, or its position
       * among all jobs. Entries of one commit share a position, and only the last of them has it.
       */
      readonly after?: number;
      /** Of a job: an entry of its book. Of all jobs: the job and the entry. */
      readonly data: HistoryView | JobEventView;
    }
  | { readonly type: 'progress'; readonly watch: string; readonly data: ProgressView }
  /** Nothing for this client lies up to here. */
  | { readonly type: 'mark'; readonly watch: string; readonly after: number }
  /** The job has ended and all of its book was sent. */
  | { readonly type: 'end'; readonly watch: string }
  | { readonly type: 'refused'; readonly watch: string; readonly error: ErrorBody };

/** Why the server closes. All but the first two of them are worth coming back for. */
export const socketClosings = {
  malformed: { code: 4400, reason: 'a message is not as it should be' },
  binary: { code: 1003, reason: 'messages are texts' },
  stopping: { code: 1001, reason: 'the server stops' },
  broken: { code: 1011, reason: 'an event stream broke off' },
  silent: { code: 4408, reason: 'no answer to a ping' },
  slow: { code: 4409, reason: 'what was sent is not read' },
} as const;

export type SocketClosing = keyof typeof socketClosings;
