import { existsSync } from 'node:fs';
import type { JobView } from 'capataz/client';
import { type CommandContext, delay, systemClock } from 'capataz/server';
import type { AuditRecord } from '../books/audit-record.ts';
import { Books } from '../books/books.ts';
import { booksFile } from '../books/place.ts';
import { bookedJob } from '../books/projection.ts';
import { redaction } from '../books/redaction.ts';
import type { settings } from '../settings.ts';

const lookEveryMs = 20;
const mostLooks = 500;

/** Tells what the record of an ended job says, before or after it is in the books. */
export function recordReader({
  settings: { redactions },
}: Pick<CommandContext<typeof settings>, 'settings'>): (view: JobView) => AuditRecord {
  const redact = redaction(redactions);
  return (view) => bookedJob(view, redact).record;
}

/**
 * Waits until the books of the data folder have the jobs: a command that is its own server takes the
 * projection down with it, and what is left would wait for the next one. Elsewhere the books are
 * another machine's.
 */
export async function untilBooked(
  jobIds: readonly string[],
  { config }: Pick<CommandContext, 'config'>,
): Promise<void> {
  const file = booksFile(config);
  if (!existsSync(file)) return;
  using books = new Books(file, { readOnly: true });
  for (const jobId of jobIds) {
    for (let looks = 0; books.record(jobId) === null && looks < mostLooks; looks += 1)
      await delay(systemClock, lookEveryMs);
  }
}
