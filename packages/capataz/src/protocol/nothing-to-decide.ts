import { CapatazError } from './errors.ts';

/** One text, whoever notices it: a command, the server before a link, or the engine. */
export function nothingToDecide({
  id,
  status,
}: {
  readonly id: string;
  readonly status: string;
}): CapatazError {
  const message = `job ${id} is ${status} and asks nobody for a decision`;
  return new CapatazError('DECISION_REFUSED', message, { reason: 'nothing_to_decide', status });
}
