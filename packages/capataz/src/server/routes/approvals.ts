import type { ApprovalWait, Job } from '../../core/job.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { nothingToDecide } from '../../protocol/nothing-to-decide.ts';
import type {
  ApprovalLinkAnswer,
  ApprovalsAnswer,
  DecisionAnswer,
  DecisionBody,
} from '../../protocol/signals-api.ts';
import { approvalToken } from '../approval-link.ts';
import type { ServerContext } from '../context.ts';
import { decideOn } from '../decisions.ts';
import {
  approvalLinkAnswer,
  approvalLinkBody,
  approvalsAnswer,
  approvalsQuery,
  decisionAnswer,
  decisionBody,
  webhookAnswer,
  webhookBody,
} from '../docs/signal-schemas.ts';
import { readPage } from '../page.ts';
import { check } from '../parse/check.ts';
import { validationFailed } from '../parse/fields.ts';
import { publicLink } from '../public-link.ts';
import { type Answer, type Call, jobIdOf, ok, type Route } from '../route.ts';
import { approvalView, jobView } from '../views.ts';
import { clientOf } from './client-of.ts';

const params = { id: "The job's id." };
const errors = ['JOB_NOT_FOUND', 'DECISION_REFUSED', 'CHANGED_MEANWHILE'] as const;

/** What waits for a person, and their decisions (S-34, S-68). */
export function approvalRoutes(context: ServerContext): Route[] {
  return [listRoute(context), decisionRoute(context), linkRoute(context), webhookRoute(context)];
}

function listRoute(context: ServerContext): Route {
  return {
    method: 'GET',
    path: '/api/v1/approvals',
    area: 'client',
    operation: {
      id: 'listApprovals',
      summary: 'What waits for a person among the jobs of this client, newest job first',
      query: approvalsQuery,
      answers: { 200: { description: 'One page', body: approvalsAnswer } },
    },
    handle: (call) => list(context, call),
  };
}

function decisionRoute(context: ServerContext): Route {
  return {
    method: 'POST',
    path: '/api/v1/jobs/{id}/approval',
    area: 'client',
    operation: {
      id: 'decide',
      summary: 'Decides what a job asks a person',
      params,
      body: decisionBody,
      answers: { 200: { description: 'It is decided, so or before', body: decisionAnswer } },
      errors,
    },
    handle: async (call) => {
      const body = check(decisionBody, call.request.body ?? {});
      const { id } = await ownJob(context, call);
      const { job, repeated } = await decideOn(context, id, decisionOf(body, call));
      return ok({ repeated, job: jobView(job, context.engine.jobs) } satisfies DecisionAnswer);
    },
  };
}

function linkRoute(context: ServerContext): Route {
  return {
    method: 'POST',
    path: '/api/v1/jobs/{id}/approval/link',
    area: 'client',
    operation: {
      id: 'linkApproval',
      summary: 'A link to a page where whoever has it decides what the job asks now',
      params,
      body: approvalLinkBody,
      answers: { 200: { description: 'The link', body: approvalLinkAnswer } },
      errors: ['JOB_NOT_FOUND', 'DECISION_REFUSED'],
    },
    handle: (call) => link(context, call),
  };
}

/** The seed's own way to decide: under `/_public`, and yet with the token of a client. */
function webhookRoute(context: ServerContext): Route {
  return {
    method: 'POST',
    path: '/_public/webhooks/approval/{id}',
    area: 'client',
    operation: {
      id: 'approvalWebhook',
      summary: 'Decides what a job asks a person, under another name',
      params,
      body: webhookBody,
      answers: { 200: { description: 'It is decided', body: webhookAnswer } },
      errors,
    },
    handle: (call) => webhook(context, call),
  };
}

async function list({ engine }: ServerContext, call: Call): Promise<Answer> {
  const { limit, before } = check(approvalsQuery, call.request.query);
  const client = clientOf(call).name;
  const { items, hasMore } = await readPage<Job>({
    limit,
    read: (last, count) => {
      const below = last?.id ?? before;
      const from = below === undefined ? {} : { before: below };
      return engine.jobs.list({ client, status: ['waiting_for_human'], ...from, limit: count });
    },
  });
  return ok({
    approvals: items.flatMap((job) =>
      job.wait?.type === 'approval' ? [approvalView(job, job.wait)] : [],
    ),
    next: hasMore ? (items.at(-1)?.id ?? null) : null,
  } satisfies ApprovalsAnswer);
}

function decisionOf(body: DecisionBody, call: Call) {
  const { decision, wait = null, hash = null, revision = null } = body;
  const { comment = null, data = null, approver = clientOf(call).name } = body;
  return { decision, wait, hash, revision, comment, data, actor: approver };
}

async function link(context: ServerContext, call: Call): Promise<Answer> {
  const { expires_in } = check(approvalLinkBody, call.request.body ?? {});
  const job = await ownJob(context, call);
  const { id: wait, hash } = openWait(job);
  const seconds = Math.floor(context.clock.now() / 1_000) + expires_in;
  const expiresAt = seconds * 1_000;
  const token = await approvalToken(context.linkKey, { jobId: job.id, wait, hash, expiresAt });
  context.log.info('a client made a link to an approval', {
    job: job.id,
    correlation: job.correlationId,
    client: clientOf(call).name,
  });
  const url = publicLink(context, `/_public/approvals/${token}`);
  const expires_at = new Date(expiresAt).toISOString();
  return ok({ url, wait, expires_at } satisfies ApprovalLinkAnswer);
}

/** @throws DECISION_REFUSED */
function openWait(job: Job): ApprovalWait {
  if (job.wait?.type === 'approval') return job.wait;
  throw nothingToDecide(job);
}

async function webhook(context: ServerContext, call: Call): Promise<Answer> {
  // Routes under /_public are let in early.
  if (!context.engine.ready) throw new CapatazError('NOT_READY', 'The server is starting.');
  const { security: _, metadata, ...body } = check(webhookBody, call.request.body ?? {});
  const { id } = await ownJob(context, call);
  const decision = decisionOf({ data: metadata ?? null, ...body }, call);
  await decideOn(context, id, decision).catch((error: unknown) => {
    throw isUnknownDecision(error) ? invalidDecision(body.decision) : error;
  });
  return ok({ status: 'approval_received', job_id: id });
}

function isUnknownDecision(error: unknown): boolean {
  return error instanceof CapatazError && error.details?.reason === 'decision_unknown';
}

/** The seed's callers know it as 400. */
function invalidDecision(decision: string): CapatazError {
  const message = `Invalid decision '${decision}' for this job`;
  return validationFailed([{ path: '', message }]);
}

/** The job, if it is this client's: a foreign one looks like none. @throws JOB_NOT_FOUND */
function ownJob({ engine }: ServerContext, call: Call): Promise<Job> {
  return engine.jobs.get(jobIdOf(call.request), clientOf(call).name);
}
