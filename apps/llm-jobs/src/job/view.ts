import type { JobView } from 'capataz/client';
import { isEnded, type Job, newJob } from '../domain/machine.ts';
import { defaultRetryConfig } from '../domain/retry.ts';
import { jobInput } from './input.ts';
import { type JobRecord, jobRecord, newRecord } from './record.ts';

/** A job of the engine's as the seed shows it. What the engine has ended itself is shown as failed. */
export function recordInView(view: JobView): JobRecord {
  const record = storedRecord(view);
  if (view.ended_at === null || isEnded(record)) return record;
  return {
    ...record,
    status: 'Failed',
    state_history: visitsOf(record),
    failure: {
      System: view.status === 'cancelled' ? 'cancelled' : (view.error?.message ?? view.status),
    },
    permanent: false,
    next_attempt_at: null,
    updated_at: view.ended_at,
    calls: record.calls.flatMap((call) => {
      if (call.outcome !== 'open') return [call];
      // What was on its way is on its way still, for all that anybody knows.
      return mayBeSent(view) ? [{ ...call, outcome: 'lost', ended_at: view.ended_at }] : [];
    }),
  };
}

/** The planned call of a job may have gone out; before that it waits for its place. */
export function mayBeSent({ state }: Pick<JobView, 'state'>): boolean {
  return state === 'Call';
}

/** One that has not begun has no record yet. */
function storedRecord(view: JobView): JobRecord {
  const stored = jobRecord.safeParse(view.data);
  if (stored.success) return stored.data;
  const { description } = jobInput.parse(view.input);
  const { id, created_at } = view;
  const now = Date.parse(created_at);
  return newRecord(newJob({ id, description, retryConfig: defaultRetryConfig }, now));
}

/** The state in which it stands counts as visited, unless it only waits to enter it again. */
function visitsOf({ state, state_history, next_attempt_at, status }: JobRecord): Job['state'][] {
  if (status === 'Pending' || next_attempt_at !== null) return [...state_history];
  return [...state_history, state];
}

const seedFields = [
  'id',
  'description',
  'status',
  'state',
  'state_history',
  'retry_count',
  'retry_config',
  'agent',
  'llm_response',
  'created_at',
  'updated_at',
  'failure',
  'permanent',
] as const satisfies readonly (keyof Job)[];

/** The fields of the seed's job, and the failure that was met last. */
export function seedView(record: JobRecord): Pick<Job, (typeof seedFields)[number]> {
  const picked = seedFields.map((field) => [field, record[field]]);
  return Object.fromEntries(picked) as Pick<Job, (typeof seedFields)[number]>;
}
