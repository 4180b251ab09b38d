import { APICallError } from '@ai-sdk/provider';
import {
  type FailureReason,
  ModelError,
  type ModelErrorDetails,
  noUsage,
  type Usage,
  unknownUsage,
} from './contract.ts';
import { retryAfterMs } from './retry-after.ts';
import { AnswerTooLongError, ConnectError } from './transport.ts';

/** What is known when a call fails. */
export interface Circumstances {
  readonly provider: string;
  /** Replaced wherever a message repeats it. */
  readonly key: string | null;
  readonly now: number;
  /** `unknownUsage` itself as long as the provider has told nothing. */
  readonly usage: Usage;
  readonly text: string;
  readonly providerRequestId: string | null;
}

const maxMessageChars = 500;

/** The error for records of whatever the SDK threw, or handed over as the error of a stream. */
export function failureOf(error: unknown, around: Circumstances): ModelError {
  if (error instanceof ModelError) return error;
  const headers = APICallError.isInstance(error) ? (error.responseHeaders ?? {}) : {};
  const status = statusOf(error);
  const fail = (reason: FailureReason, message: string, details: ModelErrorDetails = {}) =>
    new ModelError(reason, `${around.provider}: ${tidy(message, around.key)}`, {
      status,
      usage: around.usage,
      text: around.text,
      providerRequestId: around.providerRequestId ?? requestIdOf(headers),
      ...details,
    });
  if (causes(error).some((cause) => cause instanceof ConnectError)) {
    return fail('unreachable', deepest(error), { wasSent: false, usage: noUsage });
  }
  if (status !== null && !isSuccess(status)) {
    const wasCounted = around.usage !== unknownUsage || !isUncounted(status);
    return fail(reasonOf(status, error), sentenceOf(status, error), {
      retryAfterMs: retryAfterMs(headers, around.now),
      ...(wasCounted ? {} : { usage: noUsage }),
    });
  }
  if (isCut(error)) return fail('cut', `the connection ended early: ${deepest(error)}`);
  const tooLong = causes(error).find((cause) => cause instanceof AnswerTooLongError);
  return fail('malformed', `not an answer of this wire: ${messageOf(tooLong ?? error)}`);
}

/** The id by which the provider's support finds a request. */
export function requestIdOf(headers: Readonly<Record<string, string>> | undefined): string | null {
  return headers?.['request-id'] ?? headers?.['x-request-id'] ?? null;
}

function reasonOf(status: number, error: unknown): FailureReason {
  if (status === 429) return 'rate_limited';
  if (status >= 500 || [408, 409, 425].includes(status)) return 'unavailable';
  return isAboutContent(error) ? 'refused' : 'rejected';
}

/** Azure and OpenAI refuse content with a 400. */
function isAboutContent(error: unknown): boolean {
  const data = APICallError.isInstance(error) ? error.data : error;
  return /"code":"content_(?:filter|policy_violation)"/.test(JSON.stringify(data) ?? '');
}

/** Refused before a model read it. After a 500, 502 or 504 nobody knows. */
function isUncounted(status: number): boolean {
  return status < 500 || status === 503 || status === 529;
}

function sentenceOf(status: number, error: unknown): string {
  const hint = status >= 300 && status < 400 ? ' (redirects are not followed: see base_url)' : '';
  return `answered ${status}${hint}: ${messageOf(error)}`;
}

function statusOf(error: unknown): number | null {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  if (typeof status === 'number') return status;
  // An error that OpenAI's wire sends within a stream has no status.
  return error instanceof Error ? null : 500;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Where there was no answer at all, the SDK's error has no status; later, `fetch` itself complains. */
function isCut(error: unknown): boolean {
  if (APICallError.isInstance(error) && error.statusCode === undefined) return true;
  return causes(error).some(
    ({ name, message }) =>
      name === 'SocketError' ||
      message === 'terminated' ||
      message === 'Response stream ended without a finish reason.',
  );
}

function causes(error: unknown): Error[] {
  const found: Error[] = [];
  for (let cause = error; cause instanceof Error && found.length < 10; cause = cause.cause) {
    found.push(cause);
  }
  return found;
}

function deepest(error: unknown): string {
  return messageOf(causes(error).at(-1) ?? error);
}

function messageOf(error: unknown): string {
  // Where several addresses were tried in vain, Node's error has a code and no message.
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown };
  return String(message || code || 'no reason given');
}

/** One line, of bounded length, without the key or what looks like one. */
function tidy(message: string, key: string | null): string {
  const without = key === null || key === '' ? message : message.replaceAll(key, '***');
  return without
    .replaceAll(/\b(?:[sp]k[-_][\w*.-]{8,}|bearer\s+\S{8,})/gi, '***')
    .replaceAll(/\s+/g, ' ')
    .slice(0, maxMessageChars);
}
