import type {
  DeadLettersAnswer,
  DeadLetterView,
  SettledLettersAnswer,
} from '../protocol/dead-letters-api.ts';
import type { Http } from './http.ts';

export interface DeadLettersFilter {
  /** Only events of this name. */
  readonly name?: string;
  readonly jobId?: string;
  /** Whether resolved ones count, too. Default false. */
  readonly resolved?: boolean;
  /** Letters a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string;
}

/** Events that no bus would take. Every method throws CapatazError with the server's code, or UNREACHABLE. */
export interface DeadLetters {
  /** One page, oldest first. */
  list(filter?: DeadLettersFilter): Promise<DeadLettersAnswer>;
  /** All pages. */
  all(filter?: DeadLettersFilter): AsyncIterable<DeadLetterView>;
  /** @throws DEAD_LETTER_NOT_FOUND */
  get(id: string): Promise<DeadLetterView>;
  /** Sends them to the bus again, at most 1,000 a call. @returns those that were there and unresolved. */
  redrive(ids: readonly string[]): Promise<readonly string[]>;
  /** Nothing more is to be done. @returns those that were there and unresolved. */
  resolve(
    ids: readonly string[],
    options?: { readonly notes?: string },
  ): Promise<readonly string[]>;
}

const path = '/api/v1/dead-letters';

export function createDeadLetters(http: Http): DeadLetters {
  const list: DeadLetters['list'] = ({ jobId, resolved = false, ...filter } = {}) =>
    http.json({
      method: 'GET',
      path,
      query: { ...filter, job_id: jobId, resolved: String(resolved) },
    });
  const settle = async (verb: 'redrive' | 'resolve', body: object): Promise<readonly string[]> => {
    // A second time changes nothing more, but answers with fewer.
    const request = { method: 'POST', path: `${path}/${verb}`, body, retry: 'always' } as const;
    return (await http.json<SettledLettersAnswer>(request)).ids;
  };
  return {
    list,
    async *all(filter = {}) {
      let after: string | null | undefined = filter.after;
      do {
        const page: DeadLettersAnswer = await list({ ...filter, ...(after ? { after } : {}) });
        yield* page.dead_letters;
        after = page.next;
      } while (after !== null);
    },
    get: (id) => http.json({ method: 'GET', path: `${path}/${encodeURIComponent(id)}` }),
    redrive: (ids) => settle('redrive', { ids }),
    resolve: (ids, { notes } = {}) =>
      settle('resolve', { ids, ...(notes === undefined ? {} : { notes }) }),
  };
}
