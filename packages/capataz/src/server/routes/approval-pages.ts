import type { ApprovalWait, Job } from '../../core/job.ts';
import { CapatazError } from '../../protocol/errors.ts';
import { type ApprovalClaims, claimsOf } from '../approval-link.ts';
import { approvalPageHeaders, noticePage, questionPage } from '../approval-page.ts';
import type { ServerContext } from '../context.ts';
import { decideOn } from '../decisions.ts';
import { decisionForm } from '../docs/signal-schemas.ts';
import { check } from '../parse/check.ts';
import { refusalOf, retryAfterSeconds } from '../problems.ts';
import { type Answer, type Call, param, type Route } from '../route.ts';
import { decisionsOf } from '../views.ts';

const path = '/_public/approvals/{token}';
const params = { token: 'As the link has it.' };
const html = { types: ['text/html'] };
const errors = ['LINK_INVALID', 'JOB_NOT_FOUND', 'NOT_READY', 'STORE_UNAVAILABLE'] as const;

/**
 * Where a link to an approval leads. Programs that look at links before people do (mail scanners)
 * may read it as often as they like: only what a form sends decides (B-036).
 */
export function approvalPageRoutes(context: ServerContext): Route[] {
  return [
    {
      method: 'GET',
      path,
      area: 'public',
      operation: {
        id: 'approvalPage',
        summary: 'A page that shows what is asked, for people; reading it changes nothing',
        params,
        answers: { 200: { description: 'The page', ...html } },
        errors,
      },
      handle: (call) => answered(call, () => show(context, call)),
    },
    {
      method: 'POST',
      path,
      area: 'public',
      takes: 'form',
      operation: {
        id: 'decideByLink',
        summary: 'Decides; what the page sends',
        params,
        body: decisionForm,
        answers: { 200: { description: 'It is decided, so or before', ...html } },
        errors: [...errors, 'VALIDATION_FAILED', 'DECISION_REFUSED', 'CHANGED_MEANWHILE'],
      },
      handle: (call) => answered(call, () => decide(context, call)),
    },
  ];
}

async function show(context: ServerContext, call: Call): Promise<string> {
  const claims = await readClaims(context, call);
  const job = await context.engine.jobs.get(claims.jobId, null);
  const { wait } = job;
  if (wait?.type !== 'approval' || !isMeant(wait, claims)) return overPage(job, claims);
  const { message, show: content } = wait;
  return questionPage({
    jobId: job.id,
    blueprint: job.blueprint,
    message,
    show: content,
    decisions: decisionsOf(wait),
  });
}

async function decide(context: ServerContext, call: Call): Promise<string> {
  const claims = await readClaims(context, call);
  const { decision, approver, comment } = check(decisionForm, call.request.body ?? {});
  const { jobId, wait, hash } = claims;
  const { repeated } = await decideOn(context, jobId, {
    decision,
    wait,
    hash,
    revision: null,
    actor: approver.trim() === '' ? 'link' : approver.trim(),
    comment: comment === '' ? null : comment,
    // The name is only what whoever holds the link says: the book shall tell that.
    data: { via: 'link' },
  }).catch(async (error: unknown) => {
    throw await inWords(context, claims, error);
  });
  return decidedPage(decision, repeated ? 'It had been decided so before.' : 'Thank you.');
}

async function readClaims({ engine, linkKey, clock }: ServerContext, call: Call) {
  if (!engine.ready) throw new CapatazError('NOT_READY', 'The server is starting. Try again soon.');
  return claimsOf(linkKey, param(call.request, 'token'), clock.now());
}

function isMeant(wait: ApprovalWait, claims: ApprovalClaims): boolean {
  return wait.id === claims.wait && wait.hash === claims.hash;
}

/** A refusal says what became of the question, where that is known. */
async function inWords(
  { engine }: ServerContext,
  claims: ApprovalClaims,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof CapatazError) || error.code !== 'DECISION_REFUSED') return error;
  if (error.details?.reason === 'decision_unknown') return error;
  const { code, details } = error;
  return new CapatazError(code, fate(await engine.jobs.get(claims.jobId, null), claims), details);
}

function fate({ decided }: Job, { wait }: ApprovalClaims): string {
  const decision = decided.find((one) => one.wait === wait)?.decision;
  return decision === undefined
    ? 'This question is no longer open: it timed out, was withdrawn, or was asked anew.'
    : `This was decided already: ${decision}. Nothing was changed.`;
}

function overPage(job: Job, claims: ApprovalClaims): string {
  const decision = job.decided.find(({ wait }) => wait === claims.wait)?.decision;
  return decision === undefined
    ? noticePage('Nothing to decide', fate(job, claims))
    : decidedPage(decision, 'There is nothing more to do.');
}

function decidedPage(decision: string, rest: string): string {
  return noticePage(`Decided: ${decision}`, `The decision “${decision}” is recorded. ${rest}`);
}

/** People read these answers, the refusals too. */
async function answered({ reply }: Call, make: () => Promise<string>): Promise<Answer> {
  reply.headers(approvalPageHeaders);
  const type = 'text/html; charset=utf-8';
  try {
    return { status: 200, text: await make(), type };
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    const seconds = retryAfterSeconds(refusal);
    if (seconds !== undefined) reply.header('Retry-After', String(seconds));
    const text = noticePage('This did not work', refusal.message);
    return { status: refusal.status, text, type };
  }
}
