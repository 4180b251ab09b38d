import { type Action, fail, finish, sleep, transition } from 'capataz';
import { displayOf } from '../domain/failure.ts';
import { next, type Outcome, type State } from '../domain/machine.ts';
import { type JobRecord, type LlmJob, save } from './record.ts';

export type JobState = State | 'Admission' | 'Call' | 'Budget';

interface Advance {
  readonly now: number;
  /** Before a retry, in ms. */
  readonly waitMs?: number;
}

/**
 * Judges the present state and does what follows. A retry waits on a timer of the engine's and then
 * enters Process anew, so that budgets and rates are asked for each call and held by no wait.
 */
export function advance(
  job: LlmJob,
  record: JobRecord,
  outcome: Outcome,
  { now, waitMs = 0 }: Advance,
): Action<JobState> {
  const { job: moved, transition: way } = next(record, outcome, now);
  switch (way.type) {
    case 'next':
      save(job, moved);
      return transition(way.state);
    case 'retry': {
      // A wait of its own even where the delay is 0: it is what keeps retries from being a loop.
      const afterMs = Math.max(1, waitMs);
      const at = new Date(now + afterMs).toISOString();
      save(job, { ...moved, next_attempt_at: at });
      return sleep(`${afterMs}ms`, way.state);
    }
    case 'complete':
      save(job, moved);
      if (way.outcome.type === 'success') return finish(moved.llm_response);
      return fail(displayOf(way.outcome.kind), {
        failure: way.outcome.kind,
        permanent: way.outcome.permanent,
      });
  }
}
