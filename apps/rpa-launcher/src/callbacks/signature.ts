import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Names the job that a callback is about, and proves that we named it (S-86). */
export const jobHeader = 'x-capataz-job';

/** A key of its own for this, so that the static key signs nothing and can't be told from signatures. */
function keyOf(token: string): Buffer {
  return Buffer.from(hkdfSync('sha256', token, '', 'capataz-rpa callbacks', 32));
}

export function signedJob(jobId: string, token: string): string {
  const proof = createHmac('sha256', keyOf(token)).update(jobId).digest('base64url');
  return `${jobId}.${proof}`;
}

/** @returns the job's id, or null for a text that we did not make */
export function jobIn(text: string, token: string): string | null {
  const [jobId = ''] = text.split('.');
  return isSame(text, signedJob(jobId, token)) ? jobId : null;
}

/** In constant time, whatever the lengths. */
export function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
