import type { FastifyError } from 'fastify';
import { CapatazError, type ErrorBody, retryAfterMs } from '../protocol/errors.ts';

/** What Fastify refuses by itself, in the words of the catalogue. */
const frameworkErrors: Readonly<Record<string, () => CapatazError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new CapatazError('PAYLOAD_TOO_LARGE', 'The body is larger than the configured limit.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new CapatazError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new CapatazError('MALFORMED_REQUEST', 'The body is not as long as Content-Length says.'),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new CapatazError('NOT_FOUND', 'There is no such route: a part of the path is too long.'),
  FST_ERR_BAD_URL: () => new CapatazError('MALFORMED_REQUEST', 'The path is not well encoded.'),
};

/** @returns the refusal that an error is; undefined for a bug. */
export function refusalOf(error: unknown): CapatazError | undefined {
  if (error instanceof CapatazError) return error;
  // Only the code is read, and it may be absent.
  const code = (error as Partial<FastifyError> | null)?.code;
  return code === undefined ? undefined : frameworkErrors[code]?.();
}

/** As it looks when the caller closes its connection while it still is sending. */
export function isHangUp(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
}

/** What is said of a body that can't be parsed. */
export function jsonRefusal(problem: 'syntax' | 'depth' | 'size'): CapatazError {
  switch (problem) {
    case 'syntax':
      return new CapatazError('INVALID_JSON', 'The body is not JSON.');
    case 'depth':
      return new CapatazError('JSON_TOO_DEEP', 'The JSON is nested deeper than 64 levels.');
    case 'size':
      return new CapatazError(
        'PAYLOAD_TOO_LARGE',
        'The body holds more than 250,000 commas and brackets.',
      );
  }
}

/** What a bug looks like from outside; the log has the stack. */
export function internalError(): CapatazError {
  return new CapatazError('INTERNAL', 'Something went wrong in the server; its log has more.');
}

/** Seconds for `Retry-After`: as the error says, else one. Undefined where none belongs. */
export function retryAfterSeconds(error: CapatazError): number | undefined {
  const isForLater = error.status === 429 || error.status === 503;
  const ms = retryAfterMs(error) ?? (isForLater ? 1_000 : undefined);
  return ms === undefined ? undefined : Math.max(1, Math.ceil(ms / 1_000));
}

/**
 * RXON's SDK reads the text of an error: `unauthorized` and `not found` make it register again
 * (S-39), so that these words stand in those two and nowhere else.
 */
export function workerErrorBody(error: CapatazError): ErrorBody {
  return { ...error.toBody(), error: workerErrorText(error) };
}

function workerErrorText(error: CapatazError): string {
  if (error.code === 'WORKER_NOT_FOUND') return 'Worker not found';
  if (error.code === 'UNAUTHORIZED') return `Unauthorized: ${error.message}`;
  return error.message;
}
