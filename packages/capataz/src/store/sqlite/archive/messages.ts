import type { StoredEntry } from '../../../core/history.ts';
import type { BookRow, EventPage } from '../../contract.ts';

/** What is asked of the thread that has the archive open. */
export type ArchiveQuestion =
  | { readonly type: 'write'; readonly rows: readonly BookRow[] }
  | {
      readonly type: 'history';
      readonly jobId: string;
      readonly after: number;
      readonly limit: number;
    }
  | {
      readonly type: 'events';
      readonly after: number;
      readonly upTo: number;
      readonly limit: number;
    }
  | { readonly type: 'forget'; readonly jobIds: readonly string[] }
  | { readonly type: 'close' };

export interface ArchiveAnswers {
  readonly write: 'written' | 'foreign';
  readonly history: StoredEntry[];
  readonly events: EventPage;
  readonly forget: null;
  readonly close: null;
}

/** In the order of asking. */
export type ArchiveReply =
  | { readonly type: 'done'; readonly answer: ArchiveAnswers[keyof ArchiveAnswers] }
  | { readonly type: 'outage'; readonly why: string }
  | {
      readonly type: 'refused';
      readonly code: 'CONFIG_INVALID' | 'STORE_NEWER';
      readonly message: string;
    }
  | { readonly type: 'bug'; readonly message: string };
