import { CapatazError, type ErrorBody } from '../../protocol/errors.ts';

/** How one item of a batch says that it was refused. */
export function refusedAnswer(error: CapatazError): { readonly status: 'refused' } & ErrorBody {
  return { status: 'refused', ...error.toBody() };
}

/** One item of a batch, or why it is refused: that harms none of the others. */
export function refusalOr<T>(make: () => T): T | CapatazError {
  try {
    return make();
  } catch (error) {
    if (error instanceof CapatazError) return error;
    throw error;
  }
}
