import type {
  ApprovalLinkAnswer,
  ApprovalsAnswer,
  ApprovalView,
  DecisionAnswer,
  DecisionBody,
} from '../protocol/signals-api.ts';
import type { Duration } from '../std/duration.ts';
import type { Http } from './http.ts';
import { jobPath, seconds } from './jobs.ts';

export interface ApprovalsFilter {
  /** Approvals a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly before?: string;
}

/** Everything but the decision itself. */
export type DecideOptions = Omit<DecisionBody, 'decision'>;

/** What waits for people. Every method throws CapatazError with the server's code, or UNREACHABLE. */
export interface Approvals {
  /** One page, newest job first. */
  list(filter?: ApprovalsFilter): Promise<ApprovalsAnswer>;
  /** All pages. */
  all(filter?: ApprovalsFilter): AsyncIterable<ApprovalView>;
  /** The decision `approved`. @throws DECISION_REFUSED */
  approve(jobId: string, options?: DecideOptions): Promise<DecisionAnswer>;
  /** The decision `rejected`. @throws DECISION_REFUSED */
  reject(jobId: string, options?: DecideOptions): Promise<DecisionAnswer>;
  /** Stored when it resolves. @throws DECISION_REFUSED, JOB_NOT_FOUND */
  decide(jobId: string, decision: string, options?: DecideOptions): Promise<DecisionAnswer>;
  /** A page where whoever has the link decides what is asked now. @throws DECISION_REFUSED */
  link(jobId: string, options?: { readonly expiresIn?: Duration }): Promise<ApprovalLinkAnswer>;
}

export function createApprovals(http: Http): Approvals {
  const decide: Approvals['decide'] = (jobId, decision, options = {}) =>
    http.json({
      method: 'POST',
      path: `${jobPath(jobId)}/approval`,
      body: { decision, ...options },
      retry: options.wait === undefined ? 'refused' : 'always',
    });
  const list: Approvals['list'] = (filter = {}) =>
    http.json({ method: 'GET', path: '/api/v1/approvals', query: { ...filter } });
  return {
    list,
    async *all(filter = {}) {
      let before: string | null | undefined = filter.before;
      do {
        const page: ApprovalsAnswer = await list({ ...filter, ...(before ? { before } : {}) });
        yield* page.approvals;
        before = page.next;
      } while (before !== null);
    },
    approve: (jobId, options) => decide(jobId, 'approved', options),
    reject: (jobId, options) => decide(jobId, 'rejected', options),
    decide,
    async link(jobId, { expiresIn } = {}) {
      const link = await http.json<ApprovalLinkAnswer>({
        method: 'POST',
        path: `${jobPath(jobId)}/approval/link`,
        body: expiresIn === undefined ? {} : { expires_in: seconds(expiresIn) },
        retry: 'always',
      });
      return { ...link, url: http.absolute(link.url) };
    },
  };
}
