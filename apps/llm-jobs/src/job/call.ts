import { createHash } from 'node:crypto';
import { type Action, type RunningJob, transition } from 'capataz';
import { failureOf } from '../domain/failure.ts';
import { success } from '../domain/machine.ts';
import { backoffMs } from '../domain/retry.ts';
import { priceOf } from '../models/catalog.ts';
import { failureReasons } from '../models/contract.ts';
import { costOf } from '../models/price.ts';
import { faultOf } from '../output/check.ts';
import { commandFault } from '../output/command.ts';
import { advance, type JobState } from './advance.ts';
import { askOnce, type Reply } from './ask.ts';
import { classificationIn, unclassified } from './classification.ts';
import { decided, type FailedCall } from './fallback.ts';
import type { JobInput } from './input.ts';
import { type JobParts, partsIn } from './parts.ts';
import { settled } from './plan.ts';
import { type CallRow, type JobRecord, openCall, recordOf, save, withLastCall } from './record.ts';
import type { JobRules } from './rules.ts';

type Job = RunningJob<JobInput>;

/** Calls of one job whose server died. With one more the job is taken for what kills servers. */
const mostLost = 10;

/** Makes the call that was planned, and judges what it brought. */
export async function makeCall(job: Job, rules: JobRules): Promise<Action<JobState>> {
  const parts = partsIn(job.stores);
  const planned = recordOf(job);
  const open = openCall(planned);
  const reply = await askOnce(job, planned, open, parts, rules);
  const row = closed(open, reply, { rules, now: parts.clock.now() });
  const record = withLastCall(planned, row);
  const action =
    row.purpose === 'classify'
      ? afterClassification(job, record, reply, rules)
      : await afterAnswer(job, record, reply, { parts, rules });
  return settled(action, row, rules);
}

function closed(
  row: CallRow,
  reply: Reply,
  { rules, now }: { readonly rules: JobRules; readonly now: number },
): CallRow {
  const ended_at = new Date(now).toISOString();
  if (reply.type === 'lost')
    return { ...row, ended_at, outcome: 'lost', message: 'the server died during the call' };
  const { usage, provider_request_id } = reply;
  const told = { ended_at, usage, provider_request_id };
  if (reply.type === 'failed') {
    const { reason, message } = reply;
    const cost_nano_usd = costOf(usage, priceOf(rules.catalog, row));
    return { ...row, ...told, cost_nano_usd, outcome: 'failed', reason, message };
  }
  const cost_nano_usd = reply.is_stub ? 0 : costOf(usage, priceOf(rules.catalog, row));
  return { ...row, ...told, cost_nano_usd, outcome: 'answered', is_stub: reply.is_stub };
}

/** Whatever keeps the model from saying it, the words of the description say it. */
function afterClassification(
  job: Job,
  record: JobRecord,
  reply: Reply,
  { skills }: JobRules,
): Action<JobState> {
  const classification =
    reply.type === 'answered' ? classificationIn(reply.text, skills.keys()) : unclassified;
  save(job, { ...record, classification });
  return transition('DefineAgent');
}

interface Around {
  readonly parts: JobParts;
  readonly rules: JobRules;
}

async function afterAnswer(
  job: Job,
  record: JobRecord,
  reply: Reply,
  around: Around,
): Promise<Action<JobState>> {
  if (reply.type === 'lost') return repeat(job, record, around);
  if (reply.type === 'failed') {
    const { reason, message, retry_after_ms: retryAfterMs } = reply;
    const failed = { failureClass: failureReasons[reason], message, retryAfterMs };
    return afterFailure(job, record, failed, around);
  }
  const fault = await faultIn(job, record, reply.text, around.rules);
  if (fault === null) {
    const answered = { ...record, llm_response: reply.text, refusal: null };
    return advance(job, answered, success, { now: around.parts.clock.now() });
  }
  const failed = {
    failureClass: 'business',
    message: around.parts.redact(fault),
    retryAfterMs: null,
  } as const;
  return afterFailure(job, record, failed, around);
}

/** The same try once more, under another request id: the count of retries stays (W-q). */
function repeat(job: Job, record: JobRecord, around: Around): Action<JobState> {
  const lost = record.calls.filter(({ outcome }) => outcome === 'lost').length;
  if (lost > mostLost) {
    const failure = failureOf('permanent', `the server died during ${lost} calls of this job`);
    return advance(job, record, { type: 'failure', ...failure }, { now: around.parts.clock.now() });
  }
  save(job, record);
  return transition('Process');
}

async function faultIn(
  job: Job,
  { agent }: JobRecord,
  answer: string,
  { skills }: JobRules,
): Promise<string | null> {
  const skill = skills.get(agent?.skill ?? '');
  return (
    faultOf(answer, skill?.check ?? {}) ??
    (job.input.check === undefined ? null : faultOf(answer, job.input.check)) ??
    (skill?.command ? await commandFault(answer, skill.command, job.signal) : null)
  );
}

function afterFailure(
  job: Job,
  record: JobRecord,
  failed: FailedCall,
  { parts, rules }: Around,
): Action<JobState> {
  const { record: moved, failure, leastMs } = decided(record, failed, rules);
  const requestId = record.calls.at(-1)?.request_id ?? '';
  const backoff = backoffMs(
    record.retry_config,
    record.retry_count + 1,
    rules.backoff,
    chanceOf(requestId),
  );
  const outcome = { type: 'failure', ...failure } as const;
  const waitMs = Math.max(backoff, leastMs);
  return advance(job, moved, outcome, { now: parts.clock.now(), waitMs });
}

/** Uniform in [0, 1), and the same whenever the same request is judged. */
function chanceOf(requestId: string): number {
  return createHash('sha256').update(requestId).digest().readUInt32BE(0) / 2 ** 32;
}
