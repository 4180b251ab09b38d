import { oneLine } from 'capataz/server';
import type { RefusalReason } from './contract.ts';

export interface Refusal {
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
}

const maxMessageChars = 500;
/** Of a longer text nobody reads the rest, and looking for tags in it takes the square of its length. */
const maxReadChars = 5_000;

/** Of any answer that is no 2xx; bodies may be HTML pages of a proxy, or nothing. */
export function refusalOf(status: number, text: string): Refusal {
  const body = objectOf(text);
  const code = typeof body?.code === 'string' ? body.code : null;
  const said = typeof body?.message === 'string' ? body.message : text;
  // Zeros and other controls no table takes.
  const message = oneLine(said.slice(0, maxReadChars).replaceAll(/<[^>]*>/g, ' ')).trim();
  return { status, code, message: message.slice(0, maxMessageChars) || `status ${status}` };
}

export function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    // Checked to be an object, whose fields are unknown.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** First match wins. The texts are those that operators of Control Rooms have reported. */
const reasons: readonly (readonly [status: number, text: RegExp, reason: RefusalReason])[] = [
  [412, /no compatible targets found in automation/i, 'robot_without_targets'],
  [412, /(?:)/, 'device_unavailable'],
  [400, /are not active|not connected|device is offline/i, 'device_unavailable'],
  [400, /none of the user\(?s?\)? provided have default device/i, 'user_without_device'],
  [400, /no session found|already logged in/i, 'runner_session'],
  [400, /(?:)/, 'bad_request'],
  [403, /(?:)/, 'forbidden'],
  [404, /(?:)/, 'not_found'],
  [429, /(?:)/, 'too_many'],
];

export function reasonOf({ status, message }: Refusal): RefusalReason {
  const row = reasons.find(([of, text]) => of === status && text.test(message));
  return row?.[2] ?? 'other';
}

/**
 * Whether the token is what is wrong. Some Control Rooms say 400 of one that is spent; read as a
 * robot's fault, that would cost it its assignment (LH-7, LH-15).
 */
export function isAboutToken({ status, code, message }: Refusal): boolean {
  if (status === 401) return true;
  if (status !== 400) return false;
  return (
    code === 'UM1117' ||
    /\btoken\b.*\b(?:expired|invalid|expected|missing|revoked|not valid)\b/i.test(message) ||
    /\b(?:expired|invalid|missing|revoked)\b.*\btoken\b/i.test(message) ||
    /\bsession\b.*\bexpired\b/i.test(message)
  );
}

/** Whoever asks to be left alone for longer is asked again after this: nobody else would end the wait. */
const longestRetryAfterMs = 3_600_000;

/** `Retry-After` in seconds or as a date, the latter by the answer's own clock. */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  now: number,
): number | null {
  const text = headers['retry-after']?.trim() ?? '';
  const theirs = Date.parse(headers.date ?? '');
  const askedMs = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - (Number.isNaN(theirs) ? now : theirs);
  return Number.isNaN(askedMs) ? null : Math.min(Math.max(0, askedMs), longestRetryAfterMs);
}
