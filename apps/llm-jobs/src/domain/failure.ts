import { z } from 'zod';
import type { FailureClass } from '../models/contract.ts';

/**
 * What went wrong, as the seed writes it: one key that says whose fault it is. Business: the output is
 * no good. System: time-outs, rate limits, outages.
 */
export const failureKind = z.union([
  z.strictObject({ Business: z.string() }),
  z.strictObject({ System: z.string() }),
]);
export type FailureKind = z.infer<typeof failureKind>;

export interface Failure {
  readonly kind: FailureKind;
  /** It can never succeed, so that it is not tried again (W-m). */
  readonly permanent: boolean;
}

/** Permanent failures are System failures with a mark (S-81). */
export function failureOf(failureClass: FailureClass, text: string): Failure {
  const kind = failureClass === 'business' ? { Business: text } : { System: text };
  return { kind, permanent: failureClass === 'permanent' };
}

export function textOf(kind: FailureKind): string {
  return 'Business' in kind ? kind.Business : kind.System;
}

/** For people: `Business failure: the answer is empty`. */
export function displayOf(kind: FailureKind): string {
  return `${'Business' in kind ? 'Business' : 'System'} failure: ${textOf(kind)}`;
}
