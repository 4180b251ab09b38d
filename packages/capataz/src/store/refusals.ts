import { CapatazError } from '../protocol/errors.ts';

/** How a store on a database says that this one can't work at present. */

/** The refusal of what was certainly not stored. */
export function unavailable(why: string, cause?: unknown): CapatazError {
  return new CapatazError(
    'STORE_UNAVAILABLE',
    `The store does not answer: ${why}. Nothing was changed.`,
    undefined,
    cause,
  );
}

/** The refusal of what somebody else has locked for too long; everything else goes on. */
export function busy(cause?: unknown): CapatazError {
  return new CapatazError(
    'STORE_BUSY',
    'What is to be changed is locked by somebody else. Nothing was changed.',
    undefined,
    cause,
  );
}

/** The refusal of what was asked and not answered: it may have been committed before. */
export function uncertain(why: string, cause?: unknown): CapatazError {
  return new CapatazError(
    'STORE_UNAVAILABLE',
    `The store does not answer: ${why}. It is unknown whether it was stored.`,
    undefined,
    cause,
  );
}
