import { CapatazError } from 'capataz';
import type { Client, JobView } from 'capataz/client';
import type { JobEvent } from 'capataz/server';
import { blueprintName } from '../job/names.ts';
import { settleInterrupted } from '../job/settlement.ts';
import { recordInView } from '../job/view.ts';
import { auditRecord, type BookedJob } from './audit-record.ts';
import type { Books } from './books.ts';
import type { Redact } from './redaction.ts';

const endings: ReadonlySet<string> = new Set(['job_finished', 'job_failed', 'job_cancelled']);

export function isEnding({ entry }: JobEvent): boolean {
  return endings.has(entry.type);
}

interface Parts {
  readonly books: Books;
  readonly redact: Redact;
  readonly client: (name: string) => Client;
}

/**
 * Whatever ends without End has its record from here: what failed before, was cancelled, or was given up
 * by the engine, and what another server's End has written into its own books (S-56).
 */
export async function project(
  events: readonly JobEvent[],
  position: number,
  { books, redact, client }: Parts,
): Promise<void> {
  const booked: BookedJob[] = [];
  for (const event of events) {
    // Also what End has written: if it died before its commit, another End's word is what the job says.
    const view = await viewOf(client(event.client), event.jobId);
    if (view === null || view.blueprint !== blueprintName) continue;
    booked.push(bookedJob(view, redact));
    await settleInterrupted(client(event.client), view);
  }
  books.apply(booked, position);
}

/** Null for one that has been forgotten since. */
async function viewOf(client: Client, id: string): Promise<JobView | null> {
  try {
    return await client.jobs.get(id);
  } catch (error) {
    if (error instanceof CapatazError && error.code === 'JOB_NOT_FOUND') return null;
    throw error;
  }
}

export function bookedJob(view: JobView, redact: Redact): BookedJob {
  const { client, attributes } = view;
  return auditRecord(recordInView(view), { client, attributes, redact });
}
