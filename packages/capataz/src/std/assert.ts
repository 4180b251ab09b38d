/** A broken promise of our own code: never the user's fault, always a bug to report. */
export class InternalError extends Error {
  override readonly name = 'InternalError';
}

/** States what must hold here. @throws InternalError with the message when it does not. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InternalError(message);
}

/** Ends an exhaustive switch: a new member of the union stops compiling here. */
export function unreachable(value: never): never {
  throw new InternalError(`unexpected value: ${JSON.stringify(value)}`);
}
