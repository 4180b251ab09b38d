import type { OutboxVerdict } from '../contract.ts';
import type { EmitMessage } from './messages.ts';
import { textAt } from './texts.ts';
import type { WriterState } from './writer-state.ts';

/** Events on their way to the bus, and those that nobody would take. */

export function writeEmits(
  { statements }: WriterState,
  jobId: string,
  emits: readonly EmitMessage[],
  texts: readonly string[],
  at: number,
): void {
  for (const { number: sequence, payload, ...emit } of emits) {
    const { id, name, client, exchange, correlationId, trace } = emit;
    const metadata = JSON.stringify({ client, exchange, sequence, correlationId, trace });
    statements.run('outbox-insert', id, jobId, name, textAt(texts, payload), metadata, at);
  }
}

export function settleOutbox(
  { statements }: WriterState,
  verdicts: readonly OutboxVerdict[],
  at: number,
): void {
  for (const verdict of verdicts) {
    const { id } = verdict;
    if (verdict.type === 'failed') {
      statements.run('outbox-fail', id, verdict.error, at + verdict.retryAfterMs);
      continue;
    }
    if (verdict.type === 'dead') statements.run('dlq-move', id, verdict.error, at);
    statements.run('outbox-delete', id);
  }
}

/** @returns those that were there and unresolved. */
export function redriveLetters(
  { statements }: WriterState,
  ids: readonly string[],
  at: number,
): string[] {
  return ids.filter((id) => {
    const isThere = statements.run('dlq-restore', id, at).changes > 0;
    if (isThere) statements.run('dlq-delete', id);
    return isThere;
  });
}

export function resolveLetters(
  { statements }: WriterState,
  {
    ids,
    by,
    notes,
  }: { readonly ids: readonly string[]; readonly by: string; readonly notes: string },
  at: number,
): string[] {
  return ids.filter((id) => statements.run('dlq-resolve', id, at, by, notes).changes > 0);
}
