import type { Clock } from 'capataz/server';
import type { Books } from '../books/books.ts';
import type { Redact } from '../books/redaction.ts';
import type { Models } from '../models/create-models.ts';

/** What handlers have effects through. */
export interface JobParts {
  readonly models: Pick<Models, 'call' | 'isStub'>;
  readonly books: Pick<Books, 'write'>;
  readonly redact: Redact;
  readonly clock: Clock;
}

/** The parts as a handler finds them in `job.stores`. */
export function partsIn(stores: Readonly<Record<string, unknown>>): JobParts {
  if (!('models' in stores && 'books' in stores && 'redact' in stores && 'clock' in stores))
    throw new Error('the stores of llm-jobs are missing');
  // The application composes them under these names and types.
  return stores as unknown as JobParts;
}
