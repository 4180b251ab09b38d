import type { LinkKey } from '../files/links.ts';
import { CapatazError } from '../protocol/errors.ts';

/** What a link lets its holder decide: one wait, on the content that it showed. */
export interface ApprovalClaims {
  readonly jobId: string;
  readonly wait: string;
  readonly hash: string;
  /** Ms since 1970 UTC, whole seconds. */
  readonly expiresAt: number;
}

/** All that is claimed stands in the link itself, so that it still says what it was once that is over. */
export async function approvalToken(key: LinkKey, claims: ApprovalClaims): Promise<string> {
  const texts = textsOf(claims);
  const signature = await key.sign(['approval', ...texts]);
  return `${Buffer.from(JSON.stringify(texts)).toString('base64url')}.${signature}`;
}

/** @throws LINK_INVALID */
export async function claimsOf(key: LinkKey, token: string, now: number): Promise<ApprovalClaims> {
  const [body = '', signature = ''] = token.split('.');
  const texts = readTexts(body);
  const isOurs = texts !== null && (await key.hasSigned(['approval', ...texts], signature));
  const [jobId = '', wait = '', hash = '', expires = ''] = texts ?? [];
  const expiresAt = Number(expires) * 1_000;
  if (isOurs && expiresAt > now) return { jobId, wait, hash, expiresAt };
  throw new CapatazError('LINK_INVALID', 'this link has expired or was changed: ask for another');
}

function textsOf({ jobId, wait, hash, expiresAt }: ApprovalClaims): string[] {
  return [jobId, wait, hash, String(Math.floor(expiresAt / 1_000))];
}

/** @returns null for what was never written here. */
function readTexts(body: string): string[] | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body, 'base64url').toString());
    const isTexts = Array.isArray(parsed) && parsed.every((part) => typeof part === 'string');
    return isTexts ? parsed : null;
  } catch {
    return null;
  }
}
