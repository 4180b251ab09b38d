import type { JsonObject, RunningJob } from 'capataz';
import { type FailureReason, ModelError } from '../models/contract.ts';
import type { JobInput } from './input.ts';
import type { JobParts } from './parts.ts';
import { promptFor } from './prompt.ts';
import type { CallRow, JobRecord } from './record.ts';
import type { JobRules } from './rules.ts';

/** What a call brought, as it is remembered. */
export type Reply =
  | {
      readonly type: 'answered';
      readonly text: string;
      readonly usage: NonNullable<CallRow['usage']>;
      readonly provider_request_id: string | null;
      readonly is_stub: boolean;
    }
  | {
      readonly type: 'failed';
      readonly reason: FailureReason;
      readonly message: string;
      readonly usage: NonNullable<CallRow['usage']>;
      readonly provider_request_id: string | null;
      readonly retry_after_ms: number | null;
    }
  /** An earlier run of this handler may have sent the request: it is never sent again under its id. */
  | { readonly type: 'lost' };

/** An answer's: what is longer fits into no job. Ten times what the most talkative models give. */
const mostCharacters = 4 * 2 ** 20;
/** Characters of a streamed answer. */
const tailKept = 1_000;
const tailShown = 60;

/**
 * Sends the request whose row is stored, at most once: before it goes out, it is remembered that it does,
 * and afterwards what came of it. A server that takes over in between finds the first and not the second.
 * @throws where the server stops, or the job is cancelled: nothing is known of the call then
 */
export async function askOnce(
  job: RunningJob<JobInput>,
  record: JobRecord,
  row: CallRow,
  { models, redact }: JobParts,
  rules: JobRules,
): Promise<Reply> {
  const sender = await job.step('sent', () => job.attempt);
  const remembered = await job.step('reply', async (): Promise<JsonObject> => {
    if (sender !== job.attempt) return { type: 'lost' };
    return { ...(await ask()) };
  });
  // It is what this very step gave, now or in an earlier run.
  return remembered as unknown as Reply;

  async function ask(): Promise<Reply> {
    let length = 0;
    let tail = '';
    const onDelta = (text: string): void => {
      length += text.length;
      // A secret comes in pieces, too, and only the whole of it is known for one.
      tail = `${tail}${text}`.slice(-tailKept);
      job.progress(null, `${length} characters: ${redact(tail).trim().slice(-tailShown)}`);
    };
    try {
      const answer = await models.call({
        requestId: row.request_id,
        provider: row.provider,
        model: row.model,
        ...promptFor(row.purpose, record, rules),
        signal: job.signal,
        onDelta,
      });
      const { text, usage, providerRequestId: provider_request_id, isStub: is_stub } = answer;
      if (text.length <= mostCharacters)
        return { type: 'answered', text, usage, provider_request_id, is_stub };
      const message = `${row.provider}: the answer has ${text.length} characters, more than ${mostCharacters}`;
      return {
        type: 'failed',
        reason: 'malformed',
        message,
        usage,
        provider_request_id,
        retry_after_ms: null,
      };
    } catch (error) {
      if (!(error instanceof ModelError) || job.signal.aborted) throw error;
      return {
        type: 'failed',
        reason: error.reason,
        message: redact(error.message),
        usage: error.usage,
        provider_request_id: error.providerRequestId,
        retry_after_ms: error.retryAfterMs,
      };
    }
  }
}
